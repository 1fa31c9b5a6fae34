package boxer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestNothingIsLeft after runs that end well, fail, leave daemons behind, or come to
// their time limit.
func TestNothingIsLeft(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "")
		for _, c := range []struct {
			name string
			code int
			line string
		}{
			{"success, with files in the worktree", 0, "echo x >made; mkdir -p a/b; touch a/b/c"},
			{"failure, with a daemon that holds the output", 1, "setsid sleep 1000 & exit 3"},
		} {
			if r := p.shard(c.code, "--count", "2", "--", "sh", "-c", c.line); len(r.Shards) != 2 {
				t.Errorf("%s: %+v", c.name, r)
			}
			p.clean()
			p.nothingLeft()
		}
		p.shard(124, "--count", "2", "--timeout", "1s", "--", "sleep", "1000")
		p.nothingLeft()
	})
}

// TestSignals: each of the three signals while four children sleep ends everything, and the code says which it was.
func TestSignals(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		for _, s := range []struct {
			signal syscall.Signal
			code   int
		}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
			if uid != 0 && s.signal != syscall.SIGINT {
				continue // who calls makes no difference to how a signal is taken
			}
			p := newPerson(t, uid, "")
			c, out := p.sleeping()
			began := time.Now()
			if err := c.Process.Signal(s.signal); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			t.Logf("%s: over after %s", s.signal, time.Since(began).Round(time.Millisecond))
			if code := c.ProcessState.ExitCode(); code != s.code {
				t.Errorf("%s: exit code %d, want %d\n%s", s.signal, code, s.code, out)
			}
			p.nothingLeft()
			if _, err := os.Stat(filepath.Join(p.project, "boxer-report/result.json")); err != nil {
				t.Errorf("%s: no result: %v", s.signal, err)
			}
		}
	})
}

// TestKillNine: nothing outlives a boxer that is killed without a chance to clean up, and the next run works.
func TestKillNine(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "")
		c, out := p.sleeping()
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		p.eventually("processes and mounts are gone", out, func() bool {
			for _, l := range p.left() {
				if strings.HasPrefix(l, "process") || strings.HasPrefix(l, "mount") {
					return false
				}
			}
			return true
		})
		p.shard(0, "--count", "2", "--", "true")
		p.nothingLeft()
	})
}

// TestMaskedProc runs as an ordinary user where parts of /proc are covered, as in a container without privileges: no
// fresh /proc can be mounted there, so the keeper stands on its lower rung, and still leaves nothing.
func TestMaskedProc(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("covering parts of /proc needs root")
	}
	p := newPerson(t, ordinary, "")
	const cover = `mount -t tmpfs cover /proc/fs && exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"`
	masked := func(args ...string) *exec.Cmd {
		c := exec.Command("unshare", append([]string{"--mount", "sh", "-c", cover, strconv.Itoa(ordinary)}, args...)...)
		c.Dir, c.Env = p.project, p.env
		return c
	}
	code, out, errs := p.run(masked(program, "shard", "--count", "2", "--", "sh", "-c", "echo fine-in-{i}"))
	if code != 0 || !strings.Contains(out+errs, "fine-in-2") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	if _, out, _ := p.run(masked(program, "doctor", "--json")); !strings.Contains(out, `"supervised"`) {
		t.Errorf("doctor does not say what cleans up:\n%s", out)
	}
	p.nothingLeft()
}

// sleeping starts a run of four children and waits until all of them run their command.
func (p *person) sleeping() (*exec.Cmd, *output) {
	p.t.Helper()
	out := &output{}
	// A shell's background jobs, and what nohup starts, ignore signals that boxer is to take here.
	c := p.command("env", "--default-signal", program, "shard", "--count", "4", "--", "sh", "-c", "echo asleep; exec sleep 1000")
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Process.Kill() })
	p.eventually("four children sleep", out, func() bool { return strings.Count(out.String(), "asleep\n") == 4 })
	return c, out
}

// output is what a running boxer has printed so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// eventually waits for a condition, and fails with what boxer printed when it does not come true in a minute.
func (p *person) eventually(what string, out *output, is func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			p.t.Fatalf("not within a minute: %s\n%s\nleft: %q", what, out, p.left())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
