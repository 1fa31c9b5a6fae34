//go:build linux

package smolvmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func askStart(w *world) {
	w.refused("vm not found: none", "machine", "start", "--name", "none")
	w.ok("machine", "create", "--name", "m")
	r := w.run("machine", "start", "--name", "m")
	pid := w.shown("m")["pid"]
	w.equal("stdout", r.out, fmt.Sprintf("Machine 'm' running (PID: %v)\n", pid))
	w.equal("stderr", r.err, "Starting machine 'm'...\n")
	w.equal("again", w.ok("machine", "start", "--name", "m", "--branchable"), fmt.Sprintf("Machine 'm' already running (PID: %v)\n", pid))
	w.refused("machine 'm' was not started as branchable", "machine", "branch", "--from", "m", "--name", "c")
	w.ok("machine", "stop", "--name", "m")
	w.ok("machine", "start", "--name", "m", "--branchable")
	if again := w.shown("m")["pid"]; again == pid {
		w.Error("another boot has the same pid")
	}
	w.branch("m", "c")
	w.ok("machine", "stop", "--name", "m")
	w.ok("machine", "start", "--name", "m") // the flag is not remembered
	w.refused("machine 'm' was not started as branchable", "machine", "branch", "--from", "m", "--name", "d")
	dir := w.folder("gone")
	w.ok("machine", "create", "--name", "v", "-v", dir+":/x")
	if err := os.Remove(dir); err != nil {
		w.Fatal(err)
	}
	w.refused("agent did not become ready within 30 seconds", "machine", "start", "--name", "v")
	w.ok("machine", "create", "--name", "p1", "-p", "8080:80")
	w.ok("machine", "create", "--name", "p2", "-p", "8080")
	w.ok("machine", "start", "--name", "p1")
	w.refused("host port 8080 is already in use by running machine 'p1'", "machine", "start", "--name", "p2")
}

// askDeep has the state where Go's tests have their folders: in /tmp, which a machine empties when it stops, and at a
// path that is too long for a socket.
func askDeep(w *world) {
	tree, err := os.MkdirTemp("/tmp", "sm-"+strings.Repeat("deep-", 20))
	if err != nil {
		w.Fatal(err)
	}
	defer os.RemoveAll(tree)
	before, err := filepath.Glob("/tmp/smolvmtest-*")
	if err != nil {
		w.Fatal(err)
	}
	w = w.with("SMOLVM_DATA_DIR=" + filepath.Join(tree, "data"))
	w.dir = tree
	mount := w.folder("mount")
	w.machine("m", "-v", mount+":"+mount)
	w.sh("m", "echo x >/var/tmp/f; echo x >"+mount+"/f; echo x >/tmp/f")
	w.branch("m", "c")
	w.ok("machine", "stop", "--name", "m")
	w.ok("machine", "start", "--name", "m")
	for _, name := range []string{"m", "c"} {
		w.equal("disk and mount of "+name, w.sh(name, "cat /var/tmp/f "+mount+"/f"), "x\nx")
	}
	w.equal("/tmp", w.sh("m", "ls /tmp/f 2>/dev/null || echo none"), "none")
	w.ok("machine", "delete", "--name", "m", "--cascade")
	w.equal("processes", w.processes(), "")
	after, err := filepath.Glob("/tmp/smolvmtest-*")
	if err != nil || len(after) > len(before) {
		w.Errorf("left: %v, %v", after, err)
	}
}

func askWorkload(w *world) {
	w.machine("m", "--init", "echo init >>/var/tmp/inits", "-e", "WHO=record", "--", "sh", "-c", "echo $WHO >>/var/tmp/loads; exec sleep 1000")
	w.eventually("the workload runs", func() bool { return w.sh("m", "pgrep -x sleep | wc -l") == "1" })
	w.branch("m", "c")
	w.equal("in a child", w.sh("c", "pgrep -x sleep | wc -l"), "1")
	w.ok("machine", "stop", "--name", "m")
	if out := w.ok("machine", "start", "--name", "m"); !strings.Contains(out, "Init already completed, skipping 1 command(s)") {
		w.Error(out)
	}
	w.eventually("the workload runs again", func() bool { return w.sh("m", "cat /var/tmp/loads") == "record\nrecord" })
	w.equal("init", w.sh("m", "cat /var/tmp/inits"), "init")
	w.ok("machine", "create", "--name", "bad", "--init", "exit 3")
	w.refused("init", "machine", "start", "--name", "bad")
	w.is("bad", "stopped")
}

func askStop(w *world) {
	w.refused("vm not found: none", "machine", "stop", "--name", "none")
	mount := w.folder("mount")
	w.machine("m", "-v", mount+":/tmp/mounted")
	w.sh("m", `echo disk >/var/tmp/kept; echo x >/etc/new; rm /etc/hostname; echo gone >/tmp/t; echo gone >/dev/shm/s; echo host >/tmp/mounted/h
		sleep 1000 >/dev/null 2>&1 </dev/null &
		setsid sleep 1000 >/dev/null 2>&1 </dev/null &`)
	w.equal("before", w.sh("m", "pgrep -x sleep | wc -l"), "2")
	w.equal("stdout", w.ok("machine", "stop", "--name", "m"), "Stopping machine 'm'...\nStopped machine: m\n")
	w.is("m", "stopped")
	w.equal("pid", w.shown("m")["pid"], any(nil))
	w.equal("again", w.ok("machine", "stop", "--name", "m"), "Machine 'm' is not running (state: stopped)\n")
	w.equal("a file of the host", w.read(mount+"/h"), "host\n")
	w.ok("machine", "start", "--name", "m", "--branchable")
	look := "cat /var/tmp/kept /etc/new; ls /etc/hostname /tmp/t /dev/shm/s 2>/dev/null; cat /tmp/mounted/h; pgrep -x sleep | wc -l; true"
	const want = "disk\nx\nhost\n0"
	w.equal("after", w.sh("m", look), want)
	w.branch("m", "c")
	w.equal("in a later branch", w.sh("c", look), want)
}

func askStopChild(w *world) {
	w.machine("m")
	w.branch("m", "c")
	w.sh("c", "echo child >/var/tmp/f; echo gone >/tmp/t; sleep 1000 >/dev/null 2>&1 </dev/null &")
	w.ok("machine", "stop", "--name", "c")
	w.refused("is not running", "machine", "exec", "--name", "c", "--", "true")
	w.equal("the source", w.sh("m", "ls /var/tmp/f 2>/dev/null || echo none"), "none")
	w.ok("machine", "start", "--name", "c")
	w.equal("after", w.sh("c", "cat /var/tmp/f; ls /tmp; pgrep -x sleep | wc -l"), "child\n0")
	w.ok("machine", "stop", "--name", "m") // while children exist
	w.equal("the child of a stopped source", w.sh("c", "cat /var/tmp/f"), "child")
	w.ok("machine", "start", "--name", "m", "--branchable")
	w.branch("m", "d")
	w.equal("a later child", w.sh("d", "ls /var/tmp/f 2>/dev/null || echo none"), "none")
}

func askDelete(w *world) {
	w.refused("vm not found: none", "machine", "delete", "--name", "none", "--force")
	w.machine("m")
	w.refused("needs confirmation but stdin is not a terminal", "machine", "delete", "--name", "m")
	w.branch("m", "b")
	w.branch("m", "a")
	for _, flags := range [][]string{{"--force"}, {"-f"}} {
		w.refused("machine 'm' is the fork base for 2 clone(s) (a, b); delete the clones first or use --cascade to remove them too",
			append([]string{"machine", "rm", "-n", "m"}, flags...)...)
	}
	w.equal("stdout", w.ok("machine", "delete", "--name", "b", "--force"), "Deleted machine: b\n")
	w.refused("vm not found: b", "machine", "delete", "--name", "b", "--force")
	w.branch("m", "b") // the name is free again
	w.equal("stdout", w.ok("machine", "delete", "--name", "m", "--cascade"), "Deleted machine: a\nDeleted machine: b\nDeleted machine: m\n")
	w.equal("left", w.ok("machine", "ls", "--json"), "[]\n")
	w.equal("processes left", w.processes(), "")
	w.machine("m")
	w.equal("a new one of the name", w.sh("m", "hostname >/dev/null && echo runs"), "runs")
}

func askBranch(w *world) {
	mount := w.folder("mount")
	w.machine("m", "--label", "k=v", "-v", mount+":/mnt/x", "-e", "A=1", "-p", "18080:80", "--workdir", "/var/tmp", "--", "sleep", "1000")
	w.sh("m", "echo source >/var/tmp/f")
	born := w.shown("m")["created_at"].(float64)
	w.eventually("the clock moved on", func() bool { return float64(time.Now().Unix()) > born })
	r := w.run("machine", "branch", "--from", "m", "--name", "c", "-e", "I={index}", "--env", "N={name}")
	c := w.shown("c")
	w.equal("code", r.code, 0)
	w.equal("stdout", r.out, fmt.Sprintf("Machine 'c' running (PID: %v)\n", c["pid"]))
	for _, text := range []string{
		"Preparing branch from 'm'...\n", "port 18080->80 (source) remapped to ", "->80 (child)\n",
		"Booting child 'c' from the checkpoint...\n", "Branched 'm' -> 'c'. Source continues running.\n",
	} {
		if !strings.Contains(r.err, text) {
			w.Errorf("stderr lacks %q:\n%s", text, r.err)
		}
	}
	for key, want := range map[string]any{"state": "running", "parent_machine": "m", "mounts": 1.0, "ports": 1.0, "branchable": false} {
		w.equal(key, c[key], want)
	}
	w.equal("labels", fmt.Sprint(c["labels"]), "map[k:v]")
	if c["created_at"].(float64) <= born {
		w.Error("created_at is the source's")
	}
	w.equal("environment and folder", w.sh("c", "echo $A $I $N; pwd; cat f"), "1 0 c\n/var/tmp\nsource")
	w.is("m", "running")
	w.equal("another host name", w.sh("c", "hostname") == w.sh("m", "hostname"), false)
	if !strings.Contains(w.ok("machine", "status", "--name", "c", "--json"), `"guest": 80`) {
		w.Error("the port is not told")
	}
	r = w.run("machine", "fork", "--golden", "m", "-n", "d", "--forkable")
	w.equal("the old names", r.code, 0)
}

func askBranchRefused(w *world) {
	dir := w.folder("mount")
	w.machine("m")
	w.branch("m", "c")
	w.ok("machine", "create", "--name", "off")
	w.machine("staged", "-v", dir+":/x:staged")
	branch := func(text string, args ...string) {
		w.Helper()
		w.refused(text, append([]string{"machine", "branch"}, args...)...)
	}
	branch("vm not found: none", "--from", "none", "--name", "x")
	branch("golden 'off' is not running forkable", "--from", "off", "--name", "x")
	branch("config operation failed: fork: staged mounts cannot be branched yet because multiple descendants would synchronize into the same host directory",
		"--from", "staged", "--name", "x")
	branch("agent operation failed: fork: machine 'c' already exists", "--from", "m", "--name", "c")
	branch("agent operation failed: fork: machine 'm' already exists", "--from", "m", "--name", "m")
	branch("machine 'c' was not started as branchable", "--from", "c", "--name", "x")
	branch("use either --name or --name-prefix, not both", "--from", "m", "--name", "x", "--name-prefix", "y")
	branch("--name is required for one child", "--from", "m")
	branch("--name cannot be used with --count greater than 1", "--from", "m", "--name", "x", "--count", "2")
	branch("--count cannot exceed 1024 children per batch", "--from", "m", "--name-prefix", "x", "--count", "1025")
	branch("pinned --port mappings are not supported for a batch", "--from", "m", "--name-prefix", "x", "--port", "1")
	branch("--branchable is not supported for batch children", "--from", "m", "--name-prefix", "x", "--branchable")
	branch("invalid machine name", "--from", "m", "--name", "x-")
	w.equal("machines", w.ok("machine", "ls", "-q"), "c\nm\noff\nstaged\n")
}

func askMounts(w *world) {
	live, ro, hidden := w.folder("live"), w.folder("ro"), w.folder("hidden")
	w.write(live+"/f", "host")
	w.write(ro+"/f", "host")
	w.write(hidden+"/f", "host\n")
	h := w.with("SMOLVM_TEST_HIDE=" + hidden + ":" + w.path("none"))
	h.machine("m", "-v", live+":"+live, "-v", hidden+":/mnt/aside:ro", "-v", ro+":/mnt/ro:ro")
	w.equal("what is not mounted is empty", w.sh("m", "ls "+hidden), "")
	w.equal("and stands elsewhere", w.sh("m", "cat /mnt/aside/f"), "host")
	w.sh("m", "cp /mnt/aside/f "+hidden+"/copy; echo source >"+live+"/source")
	w.branch("m", "c1")
	w.branch("m", "c2")
	w.equal("the copy in a child", w.sh("c1", "cat "+hidden+"/copy"), "host")
	w.sh("c1", "echo one >"+hidden+"/copy; echo one >"+live+"/one")
	w.equal("the copy is each one's own", w.sh("c2", "cat "+hidden+"/copy; cat "+live+"/one"), "host\none")
	w.equal("as is the source's", w.sh("m", "cat "+hidden+"/copy"), "host")
	w.equal("the host sees what is mounted", w.read(live+"/one")+w.read(live+"/source"), "one\nsource\n")
	if entries, err := os.ReadDir(hidden); err != nil || len(entries) != 1 {
		w.Errorf("the hidden folder: %v, %v", entries, err)
	}
	w.write(live+"/late", "late")
	w.equal("what the host writes later", w.sh("c2", "cat "+live+"/late"), "late")
	for _, name := range []string{"m", "c1"} {
		if r := w.run("machine", "exec", "--name", name, "--", "sh", "-c", "echo x >/mnt/ro/f"); r.code == 0 {
			w.Errorf("%s writes where it may only read", name)
		}
	}
	w.equal("the stand-in's own files", w.sh("m", "ls "+w.path("d", "state.json")+" 2>/dev/null || echo hidden"), "hidden")
}

func askBatchWaits(w *world) {
	w.machine("m")
	s := w.with("SMOLVM_TEST_SCALE=0.0001")
	for _, flags := range [][]string{{"--name-prefix", "p"}, {"--name-prefix", "p", "--count", "3"}, {"--name", "p", "--hold"}} {
		s.refused("did not reach a branchpoint within 600s", append([]string{"machine", "branch", "--from", "m"}, flags...)...)
	}
	s.refused("did not reach a branchpoint within 30s", "machine", "branch", "--from", "m", "--name", "p", "--wait-ready", "--ready-timeout", "30s")
	s.refused("connect control socket", "machine", "branch", "--from", "none", "--name-prefix", "p")
	w.equal("machines", w.ok("machine", "ls", "-q"), "m\n")
	end := w.background("machine", "branch", "--from", "m", "--name-prefix", "p", "--ready-timeout", "2s")
	w.eventually("it has the lock", func() bool { return w.held("m") })
	w.ok("machine", "stop", "--name", "m") // hangs as long as that
	if b := w.call("2s"); b.End.IsZero() || b.End.Sub(b.Begin) < 2*time.Second {
		w.Errorf("the batch did not wait, or stop did not wait for it: %+v", b)
	}
	w.equal("code", (<-end).code, 1)
}

// held tells whether a call holds the machine's lock.
func (w *world) held(name string) bool {
	f, err := os.Open(w.path("d", "vms", "."+name+".fork-operation.lock"))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

func askBatchReady(w *world) {
	w.machine("m")
	w.sh("m", "touch /run/smolvm-branch-ready")
	w.ok("machine", "branch", "--from", "m", "--name-prefix", "p", "--count", "2")
	w.equal("machines", w.ok("machine", "ls", "-q"), "m\np-0\np-1\n")
	w.equal("variables", w.sh("p-1", "echo $SMOLVM_BRANCH_NAME $SMOLVM_BRANCH_INDEX $SMOLVM_BRANCH_BATCH_SIZE"), "p-1 1 2")
	w.ok("machine", "create", "--name", "q-1")
	w.refused("machine 'q-1' already exists", "machine", "branch", "--from", "m", "--name-prefix", "q", "--count", "2")
	w.equal("machines", w.ok("machine", "ls", "-q"), "m\np-0\np-1\nq-1\n")
	w.refused("invalid machine name", "machine", "branch", "--from", "m", "--name-prefix", "r-")
	r := w.fault("branch:boot=2").run("machine", "branch", "--from", "m", "--name-prefix", "s", "--count", "3")
	if r.code != 1 || !strings.Contains(r.err, "; source 'm' continues running with retained checkpoint ") {
		w.Errorf("%+v", r)
	}
	w.equal("all or nothing", w.ok("machine", "ls", "-q"), "m\np-0\np-1\nq-1\n")
}

// askSerial holds a branch up, with its source's lock, until a file is there.
func askSerial(w *world) {
	w.machine("m")
	w.machine("other")
	gate := w.path("gate")
	first := w.fault("branch:slow="+gate).background("machine", "branch", "--from", "m", "--name", "c1")
	w.eventually("the first one has the lock", func() bool { return len(w.list()) == 3 })
	second := w.background("machine", "branch", "--from", "m", "--name", "c2")
	w.eventually("the second one began", func() bool { return w.logged("--name", "c2") != nil })
	w.equal("exec meanwhile", w.sh("m", "echo works"), "works")
	w.ok("machine", "status", "--name", "m")
	w.branch("other", "o1") // has another lock
	w.is("c1", "created")
	w.equal("machines", w.ok("machine", "ls", "-q"), "c1\nm\no1\nother\n")
	w.write(gate, "")
	w.equal("first", (<-first).code, 0)
	w.equal("second", (<-second).code, 0)
	if c1, c2 := w.call("--name", "c1"), w.call("--name", "c2"); !c2.Begin.Before(c1.End) || !c2.End.After(c1.End) {
		w.Errorf("first %+v, second %+v", c1, c2)
	}
	gate = w.path("gate2")
	third := w.fault("branch:slow="+gate).background("machine", "branch", "--from", "m", "--name", "c3")
	w.eventually("it has the lock", func() bool { return len(w.list()) == 6 })
	stop := w.background("machine", "stop", "--name", "m")
	remove := w.background("machine", "delete", "--name", "other", "--cascade")
	w.equal("delete of another source", (<-remove).code, 0)
	w.eventually("stop began", func() bool { return w.logged("stop", "--name", "m") != nil })
	w.is("m", "running")
	w.write(gate, "")
	w.equal("third", (<-third).code, 0)
	w.equal("stop", (<-stop).code, 0)
	w.is("c3", "running")
	w.is("m", "stopped")
}

func askFrozen(w *world) {
	w.machine("m")
	w.sh("m", `setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i >/var/tmp/count; sleep 0.02; done' >/dev/null 2>&1 </dev/null &`)
	w.eventually("it counts", func() bool { return w.sh("m", "cat /var/tmp/count 2>/dev/null; true") > "0" })
	r := w.run("machine", "branch", "--from", "m", "--name", "c1", "--freeze-source")
	if r.code != 0 || !strings.Contains(r.err, "stays frozen") {
		w.Fatalf("%+v", r)
	}
	w.is("m", "frozen")
	w.refused("machine 'm' is frozen as a reusable fork base", "machine", "exec", "--name", "m", "--", "true")
	w.branch("m", "c2") // needs no flag
	for _, c := range []string{"c1", "c2"} {
		before := w.sh(c, "cat /var/tmp/count")
		w.eventually(c+" goes on", func() bool { return w.sh(c, "cat /var/tmp/count") != before })
	}
	r = w.run("machine", "stop", "--name", "m")
	if r.code != 1 || !strings.Contains(r.err, "stop or delete the clones first") || !strings.Contains(r.err, "(c1, c2)") {
		w.Errorf("%+v", r)
	}
	w.refused("'m' is frozen because", "machine", "start", "--name", "m")
	w.ok("machine", "delete", "--name", "c1", "--force")
	w.ok("machine", "delete", "--name", "c2", "--force")
	w.ok("machine", "stop", "--name", "m")
	w.ok("machine", "start", "--name", "m")
	w.equal("after", w.sh("m", "echo runs"), "runs")
}

func askMoment(w *world) {
	w.machine("m")
	w.sh("m", "echo before >/var/tmp/f; mkdir /var/tmp/d; echo x >/var/tmp/d/deleted; rm /etc/hostname")
	w.branch("m", "c")
	w.sh("m", "echo after >/var/tmp/f; echo new >/var/tmp/new; rm -r /var/tmp/d")
	look := "cat /var/tmp/f; ls -d /etc/hostname /var/tmp/new /var/tmp/d/deleted /var/tmp/child 2>/dev/null; true"
	w.equal("the child", w.sh("c", look), "before\n/var/tmp/d/deleted")
	w.sh("c", "echo child >/var/tmp/f; touch /var/tmp/child")
	w.equal("the source", w.sh("m", look), "after\n/var/tmp/new")
	w.branch("m", "d")
	w.equal("a later child", w.sh("d", look), "after\n/var/tmp/new")
	if _, err := os.Stat("/var/tmp/child"); err == nil {
		w.Error("a child wrote to the host")
	}
}

func askProcesses(w *world) {
	w.machine("m")
	w.sh("m", "redis-server --port 6379 --save '' --daemonize yes >/dev/null; until redis-cli ping 2>/dev/null | grep -q PONG; do sleep 0.02; done; redis-cli set who source >/dev/null")
	w.branch("m", "c1")
	w.branch("m", "c2")
	w.sh("c1", "redis-cli set who one")
	for name, want := range map[string]string{"m": "source", "c1": "one", "c2": "source"} {
		w.equal(name, w.sh(name, "redis-cli get who"), want)
	}
	pid := int(w.shown("c1")["pid"].(float64))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.Fatal(err)
	}
	w.eventually("the machine counts as crashed", func() bool { return w.shown("c1")["state"] == "stopped" })
	w.is("c2", "running")
}
