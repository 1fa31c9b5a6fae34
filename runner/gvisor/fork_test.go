//go:build linux

package gvisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// TestWhatSurvivesAFork pins what a child has of its parent and what not, so that another gVisor shows what changed.
func TestWhatSurvivesAFork(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	outside := filepath.Join(p.worktree, "note")
	p.write(t, "note", "live")
	s := p.start(t, runner.Spec{Services: []runner.Service{redis}})
	p.says(t, s, "", "redis-cli set who parent")
	p.says(t, s, "", "echo made >/var/tmp/made && mkdir /var/tmp/folder && echo shm >/dev/shm/made && echo tmp >/tmp/made")
	p.says(t, s, "", "redis-server --port 7000 --save '' --daemonize yes")
	p.says(t, s, "", "setsid sh -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 & echo $! >/tmp/loop")
	pid := p.says(t, s, "", "pgrep -o -x redis-server")

	for _, c := range fork(t, s, runner.Live, 2) {
		for _, q := range []struct{ what, line, want string }{
			{"a service answers with its data", "redis-cli get who", "parent"},
			{"a service keeps its process id", "pgrep -o -x redis-server", pid},
			{"a daemon that a command left behind answers", "redis-cli -p 7000 ping", "PONG"},
			{"a background process that a command left behind runs", "kill -0 $(cat /tmp/loop) && echo runs", "runs"},
			{"files of the root file system", "cat /var/tmp/made", "made"},
			{"folders of the root file system", "ls -d /var/tmp/folder", "/var/tmp/folder"},
			{"files in memory", "cat /dev/shm/made", "shm"},
			{"files in /tmp", "cat /tmp/made", "tmp"},
			{"the worktree as it is now", "cat note", "live"},
			{"another host name", "hostname", c.Slug},
			{"loopback", "redis-cli -h 127.0.0.1 incr who2", "1"},
		} {
			if got := p.says(t, s, c.Key, q.line); got != q.want {
				t.Errorf("%s: %s: got %q, want %q", c.Slug, q.what, got, q.want)
			}
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "live" {
		t.Errorf("the worktree changed: %q, %v", b, err)
	}
}

// TestChildrenAreApart is the point of it all: one port, one file name, one data set, and nobody meets anybody.
func TestChildrenAreApart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "file", "host\n")
	s := p.start(t, runner.Spec{Services: []runner.Service{redis}})
	p.says(t, s, "", "redis-cli set who parent; echo parent >/var/tmp/own")
	children := fork(t, s, runner.Private, 4)
	ids := map[string]bool{}
	for _, c := range children {
		p.says(t, s, c.Key, "redis-cli append who -"+c.Key+"; echo "+c.Key+" >/var/tmp/own; echo "+c.Key+" >file; rm -f gone; touch new-"+c.Key)
		ids[p.says(t, s, c.Key, "cat /etc/machine-id")] = true
	}
	for _, c := range children {
		want := "parent-" + c.Key + "\n" + c.Key + "\n" + c.Key + "\nfile\nnew-" + c.Key
		if got := p.says(t, s, c.Key, "redis-cli get who; cat /var/tmp/own file; ls"); got != want {
			t.Errorf("%s: got %q, want %q", c.Slug, got, want)
		}
	}
	if _, err := os.Stat("/etc/machine-id"); err == nil && len(ids) != len(children) {
		t.Errorf("%d children have %d machine ids", len(children), len(ids))
	}
	if got := p.says(t, s, "", "redis-cli get who; cat /var/tmp/own file; ls"); got != "parent\nparent\nhost\nfile" {
		t.Errorf("the parent changed: %q", got)
	}
	if left := p.names(t); len(left) != 1 {
		t.Errorf("the worktree holds %q", left)
	}
}

// TestEditsOnTheHostNeedNoRestart saves a file as the two kinds of editors do, between forks of one sandbox.
func TestEditsOnTheHostNeedNoRestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "src/a.txt", "one")
	p.write(t, "src/b.txt", "one")
	s := p.start(t, runner.Spec{})
	for _, want := range []string{"one", "two", "three"} {
		p.write(t, "src/a.txt", want) // in place
		p.write(t, "src/.b.txt.new", want)
		if err := os.Rename(filepath.Join(p.worktree, "src/.b.txt.new"), filepath.Join(p.worktree, "src/b.txt")); err != nil {
			t.Fatal(err)
		}
		c := fork(t, s, runner.Private, 1)[0]
		if got := p.says(t, s, c.Key, "cat src/a.txt; echo; cat src/b.txt"); got != want+"\n"+want {
			t.Errorf("a child sees %q, want %q", got, want)
		}
		if got := p.says(t, s, "", "cat src/a.txt src/b.txt"); got != want+want {
			t.Errorf("the parent sees %q, want %q", got, want)
		}
	}
}

// TestPrivateParent is a parent as a run starts it: what its setup writes into the worktree is in every child, and
// not on the host.
func TestPrivateParent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "kept", "host")
	p.write(t, "removed", "host")
	s := p.start(t, runner.Spec{Worktree: runner.Private, Setup: []runner.SetupStep{
		{Run: "echo built >built && rm removed && mkdir -p deep/er && echo x >deep/er/file"},
	}})
	for _, c := range fork(t, s, runner.Private, 2) {
		p.says(t, s, c.Key, "rm -r deep; echo "+c.Key+" >>built")
		if got := p.says(t, s, c.Key, "ls; cat built"); got != "built\nkept\nbuilt\n"+c.Key {
			t.Errorf("%s sees %q", c.Slug, got)
		}
	}
	if left := p.names(t); len(left) != 2 {
		t.Errorf("the worktree holds %q", left)
	}
}

// TestSharedWorktreeIsOne has two children write one file of the real worktree, and .git refuse all writes.
func TestSharedWorktreeIsOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	children := fork(t, s, runner.Live, 2)
	p.says(t, s, children[0].Key, "echo one >>both")
	p.says(t, s, children[1].Key, "echo two >>both")
	for _, name := range []string{"", children[0].Key, children[1].Key} {
		if got := p.says(t, s, name, "cat both"); got != "one\ntwo" {
			t.Errorf("%q sees %q", name, got)
		}
	}
	for _, name := range []string{"", children[0].Key} {
		if out, exit := p.sh(t, s, name, "touch .git/hooks/post-checkout"); exit.Code == 0 || !strings.Contains(out, "Read-only") {
			t.Errorf("%q can write into .git: %s", name, out)
		}
	}
}

// TestASecondForkSeesLaterState: a fork is of now, not of when the sandbox was started.
func TestASecondForkSeesLaterState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{Services: []runner.Service{redis}})
	for i := 1; i <= 2; i++ {
		p.says(t, s, "", fmt.Sprintf("redis-cli set n %d", i))
		c := fork(t, s, runner.Private, 1)[0]
		if got := p.says(t, s, c.Key, "redis-cli get n"); got != fmt.Sprint(i) {
			t.Errorf("fork %d sees %q", i, got)
		}
	}
}

// TestClockOfAChild: its clock is the host's, though it was stopped for a while.
func TestClockOfAChild(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	c := fork(t, s, runner.Private, 1)[0]
	var at int64
	if _, err := fmt.Sscan(p.says(t, s, c.Key, "date +%s"), &at); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(time.Unix(at, 0)); d < -2*time.Second || d > 5*time.Second {
		t.Errorf("the child's clock is %s off", d)
	}
}
