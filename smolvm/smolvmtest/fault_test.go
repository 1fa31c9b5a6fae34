//go:build linux

package smolvmtest_test

import (
	"strings"
	"time"
)

func askFaults(w *world) {
	w.machine("m")
	for _, f := range []struct {
		fault, text string
		args        []string
	}{
		{"start:timeout", "Error: agent operation failed: start machine: agent did not become ready within 30 seconds", []string{"start", "-n", "off"}},
		{"branch:memory", "Error: vm creation failed: branch needs at least 8192 MiB of effective host headroom for 1 children", []string{"branch", "--from", "m", "-n", "c"}},
		{"branch:boot", "agent did not become ready within 30 seconds", []string{"branch", "--from", "m", "-n", "c"}},
		{"exec@m:gap", "the container 'm' is not running", []string{"exec", "--name", "m", "--", "true"}},
		{"exec:warn=odd;exec:fail=boom: bang", "WARN odd\nError: boom: bang\n", []string{"exec", "--name", "m", "--", "true"}},
		{"*:fail", "Error: agent operation failed: injected by a test\n", []string{"ls"}},
		{"branch@m:fail=x", "Error: x\n", []string{"branch", "--from", "m", "-n", "c"}},
		{"rm:fail=x", "Error: x\n", []string{"delete", "-n", "m", "-f"}},
	} {
		if f.args[0] == "start" {
			w.ok("machine", "create", "--name", "off")
		}
		r := w.fault(f.fault).run(append([]string{"machine"}, f.args...)...)
		if r.code != 1 || !strings.Contains(r.err, f.text) {
			w.Errorf("%s: exit code %d, %q", f.fault, r.code, r.err)
		}
	}
	w.equal("machines", w.ok("machine", "ls", "-q"), "m\noff\n")
	w.fault("exec@other:fail;start:fail").ok("machine", "exec", "--name", "m", "--", "true")
	w.fault("exec@m*:fail=pattern").refused("pattern", "machine", "exec", "--name", "m", "--", "true")
	twice := w.fault("exec*2:fail=twice")
	twice.refused("twice", "machine", "exec", "--name", "m", "--", "true")
	twice.refused("twice", "machine", "exec", "--name", "m", "--", "true")
	twice.ok("machine", "exec", "--name", "m", "--", "true")
	r := w.fault("exec:warn").run("machine", "exec", "--name", "m", "--", "sh", "-c", "echo out; exit 7")
	if r.code != 7 || r.out != "out\n" || !strings.HasPrefix(r.err, "WARN ") {
		w.Errorf("%+v", r)
	}
	r = w.fault("ls:garbage").run("machine", "ls", "--json")
	if r.code != 0 || strings.HasSuffix(strings.TrimSpace(r.out), "]") {
		w.Errorf("%+v", r)
	}
	after := w.fault("create:after;delete:after=directory not empty")
	after.refused("injected by a test", "machine", "create", "--name", "there")
	w.is("there", "created")
	after.refused("directory not empty", "machine", "delete", "--name", "there", "--force")
	w.refused("vm not found", "machine", "status", "--name", "there")
	w.equal("killed", w.fault("ls:kill=15").run("machine", "ls").code, -1)
	for _, bad := range []string{"exec", "exec:nothing", "exec*0:fail", "create:locked=x"} {
		if r := w.fault(bad).run("machine", "ls"); r.code != 2 {
			w.Errorf("%q is taken: %+v", bad, r)
		}
	}
}

func askDies(w *world) {
	w.machine("m")
	w.branch("m", "c")
	const line = "echo out; sleep 1000"
	r := w.fault("exec:die").run("machine", "exec", "--name", "c", "-i", "--", "sh", "-c", line)
	if r.code != 1 || !strings.Contains(r.err, "Error: agent operation failed: exec: connection closed by the agent") || r.out != "out\n" {
		w.Errorf("%+v", r)
	}
	w.is("c", "stopped")
	w.refused("is not running", "machine", "exec", "--name", "c", "--", "true")
	w.equal("the source", w.sh("m", "pgrep -x sleep | wc -l"), "0")
	w.sh("m", "echo disk >/var/tmp/f")
	r = w.fault("exec:vanish=300ms").run("machine", "exec", "--name", "m", "-i", "--", "sleep", "1000")
	w.equal("code", r.code, 1)
	w.is("m", "unreachable")
	w.refused("machine 'm' is not running. Use 'smolvm machine start --name m' first.", "machine", "exec", "--name", "m", "--", "true")
	w.refused("golden 'm' is not running forkable", "machine", "branch", "--from", "m", "--name", "x")
	w.ok("machine", "start", "--name", "m")
	w.equal("after another start", w.sh("m", "cat /var/tmp/f; pgrep -x sleep | wc -l"), "disk\n0")
	w.ok("machine", "start", "--name", "c")
}

func askKilledBranch(w *world) {
	w.machine("m")
	r := w.fault("branch:kill").run("machine", "branch", "--from", "m", "--name", "c")
	w.equal("code", r.code, -1)
	w.is("c", "created") // a record without a machine
	w.equal("its source", w.shown("c")["parent_machine"], any("m"))
	w.refused("is not running", "machine", "exec", "--name", "c", "--", "true")
	w.refused("machine 'c' already exists", "machine", "branch", "--from", "m", "--name", "c")
	w.refused("fork base for 1 clone(s) (c)", "machine", "delete", "--name", "m", "--force")
	w.ok("machine", "delete", "--name", "c", "--force")
	w.branch("m", "c") // and its source's lock is free
	r = w.fault("exec:kill").run("machine", "exec", "--name", "c", "-i", "--", "sh", "-c", "echo out; exec sleep 1000")
	w.equal("code", r.code, -1)
	w.eventually("nothing is left of it", func() bool { return w.sh("c", "pgrep -x sleep; true") == "" })
	hung := w.fault("branch:hang").command("machine", "branch", "--from", "m", "--name", "d")
	if err := hung.Start(); err != nil {
		w.Fatal(err)
	}
	w.eventually("it began", func() bool { return w.logged("--name", "d") != nil })
	hung.Process.Kill()
	hung.Wait()
	w.equal("machines", w.ok("machine", "ls", "-q"), "c\nm\n")
}

func askSlow(w *world) {
	w.machine("m")
	for _, args := range [][]string{{"branch", "--from", "m", "--name", "c"}, {"stop", "-n", "c"}, {"start", "-n", "c"}, {"ls"}, {"delete", "-n", "c", "-f"}} {
		begin := time.Now()
		w.fault("*:slow=400ms").ok(append([]string{"machine"}, args...)...)
		if took := time.Since(begin); took < 400*time.Millisecond {
			w.Errorf("%s took %s", args[0], took)
		}
	}
	two := w.fault("exec:slots=2")
	line := "echo x >>/var/tmp/now; wc -l </var/tmp/now; until test -e /var/tmp/go; do sleep 0.02; done"
	var ends []<-chan result
	for range 3 {
		ends = append(ends, two.background("machine", "exec", "--name", "m", "--", "sh", "-c", line))
	}
	w.eventually("two are in", func() bool { return w.sh("m", "cat /var/tmp/now 2>/dev/null | wc -l") == "2" })
	w.eventually("three have begun", func() bool {
		begun := 0
		for _, c := range w.log() {
			if strings.HasPrefix(c.Args[len(c.Args)-1], "echo x") {
				begun++
			}
		}
		return begun == 3
	})
	w.equal("not more", w.sh("m", "wc -l </var/tmp/now"), "2")
	w.sh("m", "touch /var/tmp/go")
	for _, end := range ends {
		w.equal("code", (<-end).code, 0)
	}
	w.equal("in the end", w.sh("m", "wc -l </var/tmp/now"), "3")
}
