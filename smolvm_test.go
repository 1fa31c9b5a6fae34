//go:build linux

package boxer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

// standInDir has the stand-in for smolvm, which is built once for all tests here, beside boxer.
var standInDir = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(program), "stand-in")
	return dir, smolvmtest.Build(dir)
})

// vmProject is a project with a small Redis example, and a home of its own. Its machines are the stand-in's.
type vmProject struct {
	*testing.T
	base, dir, log, smolvm string
	scope                  runner.Scope
	env                    []string
}

const redisConfig = `services:
  - name: redis
    run: redis-server --port 6379 --save '' --appendonly no
    ready: redis-cli ping
setup: ["redis-cli set seed 42"]
shard:
  command: sh shard.sh <i> <n>
  junit: ["r/<i>.xml"]
`

// redisShard fails unless the child has the parent's data and writes to its own.
const redisShard = `set -e
[ "$(redis-cli get seed)" = 42 ]
[ "$(redis-cli incr counter)" = 1 ]
[ "$(ls r 2>/dev/null | wc -l)" = 0 ]
mkdir -p r
echo "<testsuite name='s$1'><testcase classname='s$1' name='own data'/></testsuite>" >r/$1.xml
echo "shard $1 of $2"
`

func newVMProject(t *testing.T) *vmProject {
	t.Helper()
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	dir, err := standInDir()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("/var/tmp", "bxv")
	if err != nil {
		t.Fatal(err)
	}
	p := &vmProject{T: t, base: base, dir: base + "/p", log: base + "/calls", smolvm: dir + "/smolvm"}
	for _, d := range []string{"p/.git", "home", "tmp", "run"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write("boxer.yaml", redisConfig)
	p.write("shard.sh", redisShard)
	if p.scope, err = runner.ScopeOf(p.dir); err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"HOME=" + base + "/home", "BOXER_TMP=" + base + "/tmp", "XDG_RUNTIME_DIR=" + base + "/run", "SMOLVM_DATA_DIR=" + base + "/vm",
		"SMOLVM_TEST_LOG=" + p.log, "BOXER_BACKEND=smolvm", "PATH=" + dir + ":" + os.Getenv("PATH"), "TERM=dumb",
		"SMOLVM_MACHINE_NAME=somebody-elses",
	}
	t.Cleanup(func() {
		for _, m := range p.machines() {
			t.Errorf("the machine %s is left", m)
			p.vm("machine", "delete", "--name", m, "--force", "--cascade")
		}
		for _, left := range p.left() {
			t.Errorf("%s is left", left)
		}
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *vmProject) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *vmProject) command(fault string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir, c.Env = p.dir, append(slices.Clone(p.env), "SMOLVM_TEST_FAULT="+fault)
	return c
}

// boxer runs boxer with a fault in smolvm.
func (p *vmProject) boxer(fault string, args ...string) (out string, code int) {
	p.Helper()
	b, err := p.command(fault, args...).CombinedOutput()
	if e, ended := err.(*exec.ExitError); ended {
		return string(b), e.ExitCode()
	} else if err != nil {
		p.Fatal(err)
	}
	return string(b), 0
}

// vm calls the stand-in as a person would.
func (p *vmProject) vm(args ...string) string {
	c := exec.Command(p.smolvm, args...)
	c.Env = append(slices.Clone(p.env), "SMOLVM_TEST_LOG=", "SMOLVM_MACHINE_NAME=")
	out, err := c.Output()
	if err != nil {
		p.Errorf("smolvm %q: %v", args, err)
	}
	return string(out)
}

func (p *vmProject) machines() []string {
	var all []struct{ Name string }
	if err := json.Unmarshal([]byte(p.vm("machine", "ls", "--json")), &all); err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

// left are boxer's files and processes of this project.
func (p *vmProject) left() []string {
	var left []string
	for _, pattern := range []string{"home/.local/state/boxer/scopes/*", "tmp/boxer-*/*"} {
		files, _ := filepath.Glob(filepath.Join(p.base, pattern))
		left = append(left, files...)
	}
	return append(left, p.processes("")...)
}

// processes are those with this project's home whose command line begins like that, less the stand-in's own.
func (p *vmProject) processes(name string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		b, err := os.ReadFile(path)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil && bytes.Contains(b, []byte("HOME="+p.base+"/home\x00")) && strings.HasPrefix(string(line), name) && len(line) > 0 {
			found = append(found, filepath.Base(filepath.Dir(path))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func (p *vmProject) eventually(what string, ok func() bool) {
	p.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("never: %s", what)
		}
	}
}

func TestSmolvmShard(t *testing.T) {
	p := newVMProject(t)
	out, code := p.boxer("", "shard", "--count", "4")
	if code != 0 || !strings.Contains(out, "4 shards · 4 tests · each ran once") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if m := p.machines(); len(m) > 0 {
		t.Errorf("left: %q", m)
	}
	calls, err := smolvmtest.ReadLog(p.log)
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"create", "start", "exec", "delete", "stop", "branch"}
	var branches, deleted []string
	var fourth, first time.Time
	for _, c := range calls {
		verb := c.Args[min(1, len(c.Args)-1)]
		at := slices.Index(c.Args, "--name")
		if slices.Contains(named, verb) && at < 0 {
			t.Errorf("no --name in %q", c.Args)
			continue
		}
		switch verb {
		case "branch":
			name := c.Args[at+1]
			branches = append(branches, name)
			if want := []string{"machine", "branch", "--from", p.scope.Key, "--name", name}; !slices.Equal(c.Args, want) {
				t.Errorf("%q is no plain branch", c.Args)
			}
			fourth = c.Begin
		case "delete":
			deleted = append(deleted, c.Args[at+1])
		case "exec":
			if slices.Contains(c.Args, "shard.sh") && first.IsZero() {
				first = c.Begin
			}
		}
	}
	if len(branches) != 4 {
		t.Errorf("branches: %q", branches)
	}
	for _, b := range branches {
		if !slices.Contains(deleted, b) {
			t.Errorf("%s was not deleted", b)
		}
	}
	if len(deleted) == 0 || deleted[len(deleted)-1] != p.scope.Key {
		t.Errorf("the parent was not deleted last: %q", deleted)
	}
	if first.IsZero() || !first.Before(fourth) {
		t.Errorf("the first shard's command began at %s, the fourth branch at %s", first, fourth)
	}
	t.Logf("the first shard's command began %s before the fourth branch", fourth.Sub(first))
}

// The example with Redis runs on smolvm as it is.
func TestSmolvmNodeRedis(t *testing.T) {
	npmInstall(t, "node-redis")
	p := newVMProject(t)
	for _, name := range []string{"boxer.yaml", "shard.sh"} {
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(p.dir, os.DirFS("examples/node-redis")); err != nil {
		t.Fatal(err)
	}
	out, code := p.boxer("", "shard", "--count", "4")
	if code != 0 || !strings.Contains(out, "4 shards · 18 tests · each ran once") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if m := p.machines(); len(m) > 0 {
		t.Errorf("left: %q", m)
	}
}

// Each fault is told in boxer's words with a code of its own, or got over; and nothing is left.
func TestSmolvmFaults(t *testing.T) {
	staged := "fork: staged mounts cannot be branched yet because multiple descendants would synchronize into the same host directory"
	for _, c := range []struct {
		name, fault string
		code        int
		says        []string
	}{
		{"create fails", "create:fail=database operation failed: disk I/O error", 125, []string{"disk I/O error", "cause:     BACKEND_FAILED"}},
		{"the database is locked for a moment", "create:locked=3", 0, nil},
		{"the database stays locked", "create:fail=database operation failed: database is locked", 125, []string{"smolvm's database stayed locked"}},
		{"no hypervisor", "start:fail=agent operation failed: start machine: KVM not available: try sudo modprobe kvm", 125, []string{"cause:     NO_HYPERVISOR", "fix:       sudo modprobe kvm"}},
		{"the machine does not get ready", "start:timeout", 125, []string{"cause:     START_TIMEOUT"}},
		{"no memory for a child", "branch:memory", 125, []string{"effective host headroom", "cause:     NO_MEMORY"}},
		{"staged mounts", "branch:fail=config operation failed: " + staged, 125, []string{staged, "cause:     STAGED_MOUNT"}},
		{"words that nobody knows", "branch:fail=the moon is in the wrong place", 125, []string{"the moon is in the wrong place"}},
		{"a list that is garbage", "ls:garbage", 125, []string{"printed no list of machines"}},
		{"a list that is garbage twice", "ls*2:garbage", 0, nil},
		{"warnings first", "*:warn=something is odd", 0, nil},
		{"the container is not running for a moment", "exec*3:gap", 0, nil},
		{"a child's container never runs", "exec@sb-????????????-f1:gap", 125, []string{"is not running"}},
		{"a child's machine dies in a command", "exec@sb-????????????-f1:die", 125, []string{"connection closed by the agent"}},
		{"the smolvm that branches is killed once", "branch*1:kill", 0, nil},
		{"a delete that fails twice", "delete*2:fail=storage operation failed: Directory not empty (os error 39)", 0, nil},
		{"an old smolvm says branch is unknown", "branch:fail=agent operation failed: fork: guest runs a guest agent without the branch protocol", 125, []string{"cause:     OTHER_VERSION"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			p := newVMProject(t)
			out, code := p.boxer(c.fault, "shard", "--count", "2")
			if code != c.code {
				t.Errorf("exit code %d", code)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("%q is not told", s)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
			if m := p.machines(); len(m) > 0 {
				t.Errorf("left: %q", m)
			}
		})
	}
}

// branching starts a shard whose branches take long, and returns when one is under way.
func (p *vmProject) branching() *exec.Cmd {
	p.Helper()
	c := p.command("branch:slow=2s", "shard", "--count", "3")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	p.eventually("a branch is under way", func() bool {
		calls, _ := smolvmtest.ReadLog(p.log)
		return slices.ContainsFunc(calls, func(c smolvmtest.Call) bool { return len(c.Args) > 1 && c.Args[1] == "branch" })
	})
	time.Sleep(200 * time.Millisecond) // it holds its lock by now, or will
	return c
}

func TestSmolvmKilledInABranchLeavesNothing(t *testing.T) {
	p := newVMProject(t)
	c := p.branching()
	began := time.Now()
	c.Process.Kill()
	c.Wait() //nolint:errcheck // it was killed
	p.eventually("the reaper has removed everything", func() bool { return len(p.machines()) == 0 && len(p.left()) == 0 })
	t.Logf("everything was gone after %s", time.Since(began).Round(time.Millisecond))
}

func TestSmolvmKilledWithItsReaperIsReclaimed(t *testing.T) {
	p := newVMProject(t)
	c := p.branching()
	for _, line := range p.processes("boxer-reaper") {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
			t.Errorf("%s cannot be killed", line)
		}
	}
	c.Process.Kill()
	c.Wait() //nolint:errcheck // it was killed
	if len(p.machines()) == 0 {
		t.Error("nothing is left to reclaim")
	}
	out, code := p.boxer("", "gc")
	if code != 0 || !strings.Contains(out, "the run that made it is dead") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	p.eventually("all is gone", func() bool { return len(p.machines()) == 0 && len(p.left()) == 0 })
}
