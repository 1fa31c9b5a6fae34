package smolvmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	nameOption  = option{name: "name", short: 'n', value: "NAME"}
	envOption   = option{name: "env", short: 'e', value: "K=V", many: true}
	dirOption   = option{name: "workdir", short: 'w', value: "DIR"}
	userOption  = option{name: "user", short: 'u', value: "USER"}
	portOption  = option{name: "port", short: 'p', value: "PORT", many: true}
	jsonOption  = option{name: "json"}
	secretEnv   = option{name: "secret-env", value: "GUEST=HOSTVAR", many: true}
	secretFile  = option{name: "secret-file", value: "GUEST=PATH", many: true}
	longNamed   = option{name: "name", value: "NAME"} // exec alone has no -n
	forceOption = option{name: "force", short: 'f'}
)

// machineCommands are the subcommands of `smolvm machine`. The list is made anew by each call of it: there is no
// state to share.
func machineCommands() []*command {
	return []*command{
		{
			names: []string{"create"}, about: "Create a machine", ambient: true, trailing: "WORKLOAD", run: (*call).create,
			options: []option{
				nameOption, {name: "image", short: 'I', value: "REF"}, {name: "from", value: "PATH"}, {name: "at", value: "GENERATION"},
				{name: "volume", short: 'v', value: "HOST:GUEST[:MODE]", many: true},
				{name: "cpus", value: "N"}, {name: "mem", value: "MIB"}, {name: "storage", value: "GIB"}, {name: "overlay", value: "GIB"},
				{name: "net"}, {name: "allow-host", value: "HOST", many: true}, {name: "allow-cidr", value: "CIDR", many: true},
				{name: "outbound-localhost-only"}, {name: "dns", value: "IP"}, {name: "net-backend", value: "BACKEND"},
				portOption, envOption, dirOption, userOption, {name: "init", value: "CMD", many: true},
				{name: "label", value: "K=V", many: true}, secretEnv, secretFile, {name: "smolfile", short: 's', value: "FILE"},
			},
			clash: [][2]string{{"from", "image"}, {"from", "smolfile"}},
		},
		{
			names: []string{"start"}, about: "Start a machine", ambient: true, run: (*call).start,
			options: []option{nameOption, {name: "branchable", aliases: []string{"forkable", "checkpointable"}}},
		},
		{names: []string{"stop"}, about: "Stop a machine", ambient: true, run: (*call).stop, options: []option{nameOption}},
		{
			names: []string{"delete", "rm"}, about: "Delete a machine", ambient: true, needsName: true, run: (*call).delete,
			options: []option{nameOption, forceOption, {name: "cascade"}},
		},
		{
			names: []string{"status"}, about: "Show a machine's state", ambient: true, run: (*call).status,
			options: []option{nameOption, jsonOption},
		},
		{
			names: []string{"ls", "list"}, about: "List machines", run: (*call).list,
			options: []option{jsonOption, {name: "verbose", short: 'v'}, {name: "quiet", short: 'q'}},
		},
		{names: []string{"data-dir"}, about: "Print a machine's folder", ambient: true, run: (*call).dataDir, options: []option{nameOption}},
		{names: []string{"sync"}, about: "Copy staged mounts back", ambient: true, run: (*call).sync, options: []option{nameOption}},
		branchCommand(),
		{
			names: []string{"exec"}, about: "Run a command in a machine", ambient: true, trailing: "COMMAND", needs: true, run: (*call).exec,
			options: []option{
				longNamed, {name: "interactive", short: 'i'}, {name: "tty", short: 't'}, envOption, dirOption, userOption,
				secretEnv, secretFile, {name: "timeout", value: "DURATION"}, {name: "stream"}, {name: "detach", short: 'd'},
			},
			clash: [][2]string{{"detach", "interactive"}, {"detach", "tty"}, {"detach", "stream"}},
		},
		{
			names: []string{"cp"}, about: "Copy one file", positional: []string{"SRC", "DST"}, run: (*call).copy,
			options: []option{{name: "mode", value: "MODE"}, {name: "uid", value: "UID"}, {name: "gid", value: "GID"}},
		},
		{
			names: []string{"checkpoint"}, about: "Write a machine's state to a file", needsName: true, run: (*call).checkpoint,
			options: []option{nameOption, {name: "output", short: 'o', value: "FILE"}, {name: "store", value: "DIR"}, {name: "history", value: "N"}},
		},
	}
}

func branchCommand() *command {
	return &command{
		names: []string{"branch", "fork"}, about: "Branch a running machine", run: (*call).branch,
		options: []option{
			nameOption, {name: "from", aliases: []string{"golden"}, value: "SOURCE"}, {name: "count", value: "N"},
			{name: "name-prefix", value: "PREFIX"}, {name: "parallel", value: "N"}, {name: "freeze-source"}, {name: "wait-ready"},
			{name: "ready-timeout", value: "DURATION"}, {name: "wait-worker-ready"}, {name: "worker-ready-timeout", value: "DURATION"},
			{name: "hold"}, {name: "branchable", aliases: []string{"forkable", "checkpointable"}}, envOption, secretEnv, secretFile,
			portOption, {name: "share-weights"},
		},
		clash: [][2]string{{"hold", "branchable"}},
	}
}

func packCommands() []*command {
	return []*command{{
		names: []string{"create"}, about: "Pack an image or a machine", run: (*call).packCreate,
		options: []option{
			{name: "image", short: 'I', value: "REF"}, {name: "from-vm", value: "NAME"}, {name: "output", short: 'o', value: "STUB"},
			{name: "no-sign"}, {name: "single-file"}, {name: "cpus", value: "N"}, {name: "mem", value: "MIB"}, {name: "staging-dir", value: "DIR"},
		},
		clash: [][2]string{{"image", "from-vm"}},
	}}
}

// find looks the command up. Without one it has said why, and code is the exit code.
func (c *call) find(args []string) (cmd *command, rest []string, code int) {
	if len(args) == 0 {
		return nil, nil, c.told(0, usage("'smolvm' requires a subcommand but one was not provided"))
	}
	switch args[0] {
	case "--version", "-V":
		fmt.Fprintln(c.Out, "smolvm", c.version())
		return nil, nil, 0
	case "--help", "-h":
		fmt.Fprintln(c.Out, "Usage: smolvm <COMMAND>\n\nCommands:\n  machine\n  pack")
		return nil, nil, 0
	case "machine", "vm":
		return c.among(machineCommands(), args[0], args[1:])
	case "pack":
		return c.among(packCommands(), args[0], args[1:])
	}
	return nil, nil, c.told(0, usage(fmt.Sprintf("unrecognized subcommand '%s'", args[0])))
}

func (c *call) among(all []*command, group string, args []string) (*command, []string, int) {
	if len(args) == 0 {
		return nil, nil, c.told(0, usage(fmt.Sprintf("'smolvm %s' requires a subcommand but one was not provided", group)))
	}
	if args[0] == "--help" || args[0] == "-h" {
		fmt.Fprintf(c.Out, "Usage: smolvm %s <COMMAND>\n\nCommands:\n", group)
		for _, cmd := range all {
			fmt.Fprintf(c.Out, "  %s\n", cmd.names[0])
		}
		return nil, nil, 0
	}
	for _, cmd := range all {
		if slices.Contains(cmd.names, args[0]) && c.knows(cmd, args[0]) {
			return cmd, args[1:], 0
		}
	}
	return nil, nil, c.told(0, usage(fmt.Sprintf("unrecognized subcommand '%s'", args[0])))
}

func (c *call) version() string {
	if v := c.getenv("SMOLVM_TEST_VERSION"); v != "" {
		return strings.TrimPrefix(v, "smolvm ")
	}
	return "1.25.4"
}

// knows keeps out what the version that is played did not have: branch came with 1.14, its --freeze-source with 1.18.1.
func (c *call) knows(cmd *command, name string) bool {
	if cmd.names[0] != "branch" {
		return true
	}
	if c.before(1, 18, 1) {
		cmd.options = slices.DeleteFunc(cmd.options, func(o option) bool { return o.name == "freeze-source" })
	}
	return name != "branch" || !c.before(1, 14, 0)
}

func (c *call) before(version ...int) bool {
	mine := strings.Split(c.version(), ".")
	for i, v := range version {
		n := 0
		if i < len(mine) {
			n, _ = strconv.Atoi(mine[i])
		}
		if n != v {
			return n < v
		}
	}
	return false
}
