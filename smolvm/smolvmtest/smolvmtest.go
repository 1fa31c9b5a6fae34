// Package smolvmtest is a stand-in for the program smolvm, for tests on machines that cannot run it. It takes the same
// command lines, prints the same words and ends with the same codes, as far as they are known, and its machines really
// run and really fork: each is a gVisor sandbox of package runner/gvisor.
//
// It owns the machines below SMOLVM_DATA_DIR (else XDG_DATA_HOME/smolvm, else ~/.local/share/smolvm) and nothing else.
// Only tests may import it. It is evidence about boxer and never about smolvm.
//
// What a reader would question: a stopped machine keeps its sandbox, with every process in it killed and /tmp and
// /dev/shm emptied. That sandbox is the machine's disk. What a hypervisor's process would be, the pid that ls tells, is
// a process that only sleeps: kill it, and the machine counts as crashed.
//
// Differences from smolvm that a test can meet: there is no image, the guest sees the host's files copy-on-write (less
// what SMOLVM_TEST_HIDE names, where it has empty folders); there is no network and no port is really published; a
// child cannot be branched again; a staged mount is a live one; a branch cannot be packed, and no pack
// carries what lies in a folder of SMOLVM_TEST_HIDE.
//
// Variables that steer it:
//
//	SMOLVM_TEST_VERSION  what --version tells, "1.25.4" by default; below 1.14 there is no branch
//	SMOLVM_TEST_LOG      file that gets a line at the begin and at the end of each call, see ReadLog
//	SMOLVM_TEST_HIDE     host folders, with colons between, that a machine started now has as empty ones of its own
//	SMOLVM_TEST_SCALE    factor for the waits of smolvm itself (--ready-timeout), 1 by default
//	SMOLVM_TEST_FAULT    what goes wrong, see Fault
package smolvmtest

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Process is what a call of the program gets from its caller.
type Process struct {
	In, Out, Err *os.File
	Env          []string
}

// call is one call under way.
type call struct {
	Process
	ctx     context.Context
	machine string // whom it is about
	args    parsed
	store   store
	faults  []fault
}

// Main is the whole program: args are those after its name, the result is its exit code.
func Main(p Process, args []string) int {
	c := &call{Process: p, ctx: context.Background()}
	end := c.logBegin(args)
	code := c.main(args)
	end(code)
	return code
}

func (c *call) main(args []string) int {
	cmd, rest, code := c.find(args)
	if cmd == nil {
		return code
	}
	var err error
	if c.args, err = cmd.parse(rest); err == nil {
		if c.args.help {
			fmt.Fprint(c.Out, cmd.help())
			return 0
		}
		code, err = c.run(cmd)
	}
	return c.told(code, err)
}

// told prints what went wrong, as smolvm does, and gives the exit code.
func (c *call) told(code int, err error) int {
	switch e := err.(type) {
	case nil:
		return code
	case usage:
		fmt.Fprintf(c.Err, "error: %s\n\nFor more information, try '--help'.\n", string(e))
		return 2
	case late:
		fmt.Fprintf(c.Err, "error: %s\n", string(e))
		return 1
	default:
		fmt.Fprintf(c.Err, "Error: %s\n", err)
		return 1
	}
}

func (c *call) run(cmd *command) (int, error) {
	var err error
	if c.machine, err = c.machineOf(cmd); err != nil {
		return 1, err
	}
	if c.store, err = openStore(c.getenv); err != nil {
		return 1, err
	}
	if c.faults, err = parseFaults(c.getenv("SMOLVM_TEST_FAULT")); err != nil {
		return 2, usage("SMOLVM_TEST_FAULT: " + err.Error())
	}
	c.faults = c.mine(cmd)
	if over, err := c.strike(); over || err != nil {
		return 0, err
	}
	code, err := cmd.run(c)
	if f := c.fault("after"); f != nil && err == nil {
		return 1, failf("%s", f.or("agent operation failed: injected by a test"))
	}
	return code, err
}

// machineOf finds the name of the machine that the call is about, for those commands that take it from the environment
// too.
func (c *call) machineOf(cmd *command) (string, error) {
	if name := c.args.one("name"); name != "" {
		return name, nil
	}
	if cmd.ambient {
		if name := c.getenv("SMOLVM_MACHINE_NAME"); name != "" {
			return name, nil
		}
	}
	switch {
	case cmd.needsName:
		return "", usage("the following required arguments were not provided:\n  --name <NAME>")
	case cmd.ambient && cmd.names[0] != "create":
		return "default", nil
	}
	return "", nil
}

func (c *call) getenv(name string) string {
	value := ""
	for _, v := range c.Env {
		if n, x, _ := strings.Cut(v, "="); n == name {
			value = x
		}
	}
	return value
}

// failf is a failure of smolvm's own.
func failf(format string, a ...any) error { return fmt.Errorf(format, a...) }

// usage is a complaint about the command line.
type usage string

func (u usage) Error() string { return string(u) }

// late is a failure after output was streamed.
type late string

func (l late) Error() string { return string(l) }
