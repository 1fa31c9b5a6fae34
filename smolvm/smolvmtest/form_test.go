//go:build linux

package smolvmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func askForm(w *world) {
	w.ok("machine", "create", "--name", "m")
	for _, args := range [][]string{
		{}, {"frobnicate"}, {"machine"}, {"machine", "frobnicate"}, {"machine", "stats"},
		{"machine", "ls", "--frobnicate"}, {"machine", "ls", "m"}, {"machine", "ls", "--json=yes"}, {"machine", "ls", "--name", "m"},
		{"machine", "exec", "-n", "m", "--", "true"}, // the one command without -n
		{"machine", "exec", "--name", "m", "true"}, {"machine", "exec", "--name", "m"}, {"machine", "exec", "--name", "m", "--"},
		{"machine", "exec", "--name", "--", "true"}, {"machine", "exec", "--name", "m", "--name", "m", "--", "true"},
		{"machine", "exec", "--name", "m", "-d", "-i", "--", "true"},
		{"machine", "exec", "--name", "m", "--timeout", "5", "--", "true"},
		{"machine", "exec", "--name", "m", "--timeout", "0s", "--", "true"},
		{"machine", "exec", "--name", "m", "--timeout", "1.5s", "--", "true"},
		{"machine", "create", "x"}, {"machine", "create", "--name"}, {"machine", "create", "--name", "x", "--branchable"},
		{"machine", "create", "--name", "x", "--cpus", "many"}, {"machine", "create", "--name", "x", "--port", "http"},
		{"machine", "delete"}, {"machine", "delete", "--force"}, {"machine", "start", "--name", "m", "--", "true"},
		{"machine", "branch", "--name", "x"}, {"machine", "branch", "--from", "m", "--name", "x", "--hold", "--branchable"},
		{"machine", "cp", "m:/x"}, {"pack", "create"},
	} {
		if r := w.run(args...); r.code != 2 || !strings.HasPrefix(r.err, "error: ") || r.out != "" {
			w.Errorf("%q: exit code %d, stdout %q, stderr %q", args, r.code, r.out, r.err)
		}
	}
	for _, args := range [][]string{
		{"vm", "ls"}, {"machine", "list", "-q"}, {"machine", "status", "-n", "m"}, {"machine", "status", "-nm"}, {"machine", "status", "--name=m"},
	} {
		w.ok(args...)
	}
	w.equal("names", w.ok("machine", "ls", "--quiet"), "m\n")
	r := w.run("machine", "create", "--name", "flags", "--", "sh", "--label", "a=b")
	w.equal("what comes after -- configures nothing", fmt.Sprint(w.shown("flags")["labels"]), "map[]")
	if r.code != 0 || !strings.HasPrefix(r.err, "note: ") {
		w.Errorf("%+v", r)
	}
	ambient := w.with("SMOLVM_MACHINE_NAME=m")
	w.equal("the name comes from the environment", strings.Contains(ambient.ok("machine", "status"), "'m'"), true)
	w.refused("vm not found: default", "machine", "status")
	ambient.refused("--name is required for one child", "machine", "branch", "--from", "x")
}

func askVersion(w *world) {
	w.equal("version", w.ok("--version"), "smolvm 1.25.4\n")
	old := w.with("SMOLVM_TEST_VERSION=1.13.0")
	w.equal("version", old.ok("--version"), "smolvm 1.13.0\n")
	help := w.ok("machine", "branch", "--help")
	if !strings.Contains(help, "--freeze-source") || !strings.Contains(help, "--from") {
		w.Error(help)
	}
	if r := old.run("machine", "branch", "--help"); r.code != 2 {
		w.Errorf("1.13 knows branch: %+v", r)
	}
	old.ok("machine", "fork", "--help")
	if strings.Contains(w.with("SMOLVM_TEST_VERSION=1.18.0").ok("machine", "branch", "--help"), "--freeze-source") {
		w.Error("1.18.0 knows --freeze-source")
	}
	if r := w.with("SMOLVM_TEST_VERSION=1.18.0").run("machine", "branch", "--from", "x", "--name", "y", "--freeze-source"); r.code != 2 {
		w.Errorf("%+v", r)
	}
}

func askState(w *world) {
	dir := w.folder("mount")
	before := time.Now().Unix()
	w.ok("machine", "create", "--name", "b", "--label", "k=v=w", "--label", "o=", "-v", dir+":/a", "-v", dir+":/b:ro", "-p", "8080:80", "-p", "9",
		"--cpus", "2", "--mem", "512", "--image", "alpine", "--net")
	w.ok("machine", "create", "--name", "a")
	all := w.list()
	w.equal("number", len(all), 2)
	w.equal("order", all[0]["name"], any("a"))
	b := all[1]
	for key, want := range map[string]any{
		"name": "b", "state": "created", "cpus": 2.0, "memory_mib": 512.0, "mounts": 2.0, "ports": 2.0, "image": "alpine", "pid": nil,
		"parent_machine": nil, "network": true,
	} {
		w.equal(key, b[key], want)
	}
	w.equal("labels", fmt.Sprint(b["labels"]), "map[k:v=w o:]")
	if at := b["created_at"].(float64); int64(at) < before || int64(at) > time.Now().Unix() {
		w.Errorf("created at %v", at)
	}
	w.equal("defaults", fmt.Sprint(all[0]["cpus"], all[0]["memory_mib"], all[0]["network"], all[0]["image"]), "4 8192 false <nil>")
	other := w.with("SMOLVM_DATA_DIR="+w.path("d2"), "HOME="+w.dir)
	w.equal("another state", other.ok("machine", "ls", "--json"), "[]\n")
	home := w.with("SMOLVM_DATA_DIR=", "XDG_DATA_HOME="+w.path("xdg"))
	home.ok("machine", "create", "--name", "x")
	if _, err := os.Stat(w.path("xdg", "smolvm", "state.json")); err != nil {
		w.Error(err)
	}
}

func askAtOnce(w *world) {
	var ends []<-chan result
	for i := range 20 {
		ends = append(ends, w.background("machine", "create", "--name", fmt.Sprintf("m%d", i%10)))
	}
	made := 0
	for _, end := range ends {
		if r := <-end; r.code == 0 {
			made++
		} else if !strings.Contains(r.err, "already exists or is being created") {
			w.Error(r.err)
		}
	}
	w.equal("made", made, 10)
	w.equal("there", len(w.list()), 10)
	locked := w.fault("create:locked=2;delete:locked")
	for _, args := range [][]string{
		{"machine", "create", "--name", "late"}, {"machine", "create", "--name", "late"}, {"machine", "delete", "--name", "m0", "--force"},
	} {
		locked.refused("database is locked", args...)
	}
	locked.ok("machine", "create", "--name", "late")
	locked.ok("machine", "delete", "--name", "m0", "--force")
	w.equal("in the end", len(w.list()), 10)
}

func askCreate(w *world) {
	dir, file := w.folder("mount"), w.path("file")
	w.write(file, "")
	w.ok("machine", "create", "--name", "m", "-v", dir+":/x:staged")
	w.refused("config operation failed: create machine: machine 'm' already exists or is being created", "machine", "create", "--name", "m")
	for _, name := range []string{"-x", "x-", "a--b", "a.b", "a/b", "a b", "a:b", strings.Repeat("x", 129), "ü"} {
		w.refused("config operation failed: invalid machine name", "machine", "create", "--name="+name)
	}
	for _, name := range []string{strings.Repeat("x", 128), "0", "a_b-c"} {
		w.ok("machine", "create", "--name", name)
	}
	for volume, text := range map[string]string{
		w.path("none") + ":/x": "mount source not found: " + w.path("none"),
		file + ":/x":           "not a directory",
		dir + ":x":             "must be an absolute path",
		"/:/x":                 "protected system path and cannot be mounted",
		"/etc:/x":              "protected system path and cannot be mounted",
		"/usr/bin:/x":          "protected system path and cannot be mounted",
		"/var:/x":              "protected system path and cannot be mounted",
		dir + ":/x:rx":         "invalid volume",
		dir:                    "invalid volume",
	} {
		w.refused(text, "machine", "create", "--name", "v", "-v", volume)
	}
	w.refused("duplicate mount target", "machine", "create", "--name", "v", "-v", dir+":/x", "-v", dir+":/x/")
	for _, label := range []string{"x", "=x"} {
		w.refused("config operation failed: --label: expected KEY=VALUE, got '"+label+"'", "machine", "create", "--name", "v", "--label", label)
	}
	w.with("SMOLVM_TEST_VERSION=1.22.2").refused("must be pulled from a registry", "machine", "create", "--name", "v", "--image", "alpine")
	w.ok("machine", "create", "--name", "v", "--image", "alpine")
	w.is("v", "created")
	if _, err := os.Stat(w.path("d", "sandbox", "state", "scopes")); err == nil {
		w.Error("create started something")
	}
	w.ok("machine", "create")
	w.equal("all", len(w.list()), 6)
}

// keys are all that `ls --json` has.
const keys = "name state cpus memory_mib pid mounts ports created_at storage_gb overlay_gb block_io disks image entrypoint cmd " +
	"ephemeral detached gpu gpu_vram_mib cuda branchable forkable parent_machine cuda_branch_pool_size cuda_fork_pool_size " +
	"cuda_vram_limit_mib branchpoint_held forkpoint_held labels restart_policy restart_max_retries restart_count health_cmd " +
	"health_interval_secs health_timeout_secs health_retries health_startup_grace_secs network"

func askList(w *world) {
	w.equal("nothing", w.ok("machine", "ls", "--json"), "[]\n")
	w.machine("m")
	m := w.shown("m")
	var got []string
	for k := range m {
		got = append(got, k)
	}
	want := strings.Fields(keys)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("keys\n%v, want\n%v", got, want)
	}
	w.equal("branchable after start --branchable", m["branchable"], any(false))
	w.equal("state", m["state"], any("running"))
	pid := int(m["pid"].(float64))
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
		w.Error(err)
	}
	w.branch("m", "plain")
	w.ok("machine", "branch", "--from", "m", "--name", "again", "--branchable")
	for name, branchable := range map[string]bool{"plain": false, "again": true} {
		child := w.shown(name)
		w.equal(name, child["branchable"], any(branchable))
		w.equal("source of "+name, child["parent_machine"], any("m"))
		if child["pid"] == m["pid"] {
			w.Errorf("%s has the pid of its source", name)
		}
	}
	table := w.ok("machine", "ls")
	if !strings.HasPrefix(table, "NAME") || !strings.Contains(table, "BRANCHED FROM") || strings.Count(table, "\n") != 4 {
		w.Error(table)
	}
}

func askLog(w *world) {
	w.ok("machine", "create", "--name", "m", "--label", "a b=\"c\"\n")
	w.run("machine", "start", "--name", "none")
	calls := w.log()
	w.equal("calls", len(calls), 2)
	w.equal("arguments", strings.Join(calls[0].Args, "|"), "machine|create|--name|m|--label|a b=\"c\"\n")
	w.equal("codes", fmt.Sprint(calls[0].Code, calls[1].Code), "0 1")
	for _, c := range calls {
		if c.Begin.IsZero() || c.End.Before(c.Begin) {
			w.Errorf("%+v", c)
		}
	}
	hung := w.fault("ls:hang").command("machine", "ls")
	if err := hung.Start(); err != nil {
		w.Fatal(err)
	}
	w.eventually("its begin is logged", func() bool { return len(w.log()) == 3 })
	hung.Process.Kill()
	hung.Wait()
	w.equal("the end of one that was killed", w.call("ls").End.IsZero(), true)
}
