//go:build linux

package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// lasting makes a sandbox with lasting children that no session holds.
func lasting(t *testing.T, c Config, scope runner.Scope, children int) {
	t.Helper()
	s := start(t, c, scope, runner.Spec{})
	src := freeze(t, s, runner.ForkOptions{Lasting: true, Want: children})
	for range children {
		fork(t, src)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func attach(t *testing.T, c Config, scope runner.Scope) ForkSession {
	t.Helper()
	s, err := c.Attach(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return ForkSession{s}
}

func TestADeadChildGoesAndADryRunOnlySaysSo(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lasting(t, c, scope, 2)
	c.round(t)
	tell(t, scope, "dead-1")
	for range 2 {
		if got, err := c.gc(t, true); err != nil || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
	}
	is(t, states(t, attach(t, c, scope)), "running", "-f1dead", "-f2running")
	c.round(t, "child "+scope.Child(1).Slug)
	is(t, states(t, attach(t, c, scope)), "running", "-f2running")
	c.round(t)
}

func TestAChildBelongsToTheRunThatMadeIt(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lasting(t, c, scope, 1)
	run := attach(t, c, scope)
	src := freeze(t, run, runner.ForkOptions{})
	own := fork(t, src)
	tell(t, scope, "dead-2") // the run's own
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "-child "+own.Slug+": its processes have ended, but it is held by process ") {
		t.Errorf("%q, %v", got, err)
	}

	tell(t, scope, "dead-0") // the hand-made child goes with its parent, the run's stays with the run
	got, err = c.gc(t, false)
	if err != nil || len(got) != 3 || got[0] != "child "+scope.Child(1).Slug || !strings.HasPrefix(got[1], "-sandbox "+scope.Slug) {
		t.Errorf("%q, %v", got, err)
	}
	is(t, states(t, run), "dead", "-f2dead")
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	c.round(t, "sandbox "+scope.Slug)
	c.left(t)
}

func TestAChildInWhichACommandRunsIsHeld(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lasting(t, c, scope, 2)
	run := attach(t, c, scope)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		_, err := run.Exec(t.Context(), scope.Child(1).Key, runner.Command{Args: []string{"wait"}})
		done <- err
	}()
	for {
		if _, err := os.Stat(filepath.Join(scope.Worktree, "waiting")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	tell(t, scope, "dead-0")
	got, err := c.gc(t, false)
	if err != nil || len(got) != 3 || got[0] != "child "+scope.Child(2).Slug || !strings.HasPrefix(got[2], "-child "+scope.Child(1).Slug) {
		t.Errorf("%q, %v", got, err)
	}
	select {
	case err := <-done:
		t.Errorf("its command was ended: %v", err)
	default:
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	<-done
	c.round(t, "sandbox "+scope.Slug, "child "+scope.Child(1).Slug)
	c.left(t)
}

func TestALiveSessionHoldsASandboxWhoseWorktreeIsGone(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lasting(t, c, scope, 1)
	run := attach(t, c, scope)
	if err := os.RemoveAll(scope.Worktree); err != nil {
		t.Fatal(err)
	}
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "-sandbox "+scope.Slug+": its worktree ") {
		t.Errorf("%q, %v", got, err)
	}
	is(t, states(t, run), "running", "-f1running")
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	c.round(t, "sandbox "+scope.Slug, "child "+scope.Child(1).Slug)
	c.left(t)
}

func TestAChildThatCannotBeRemovedIsToldAndTheOthersGo(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lasting(t, c, scope, 2)
	tell(t, scope, "dead-1")
	tell(t, scope, "dead-2")
	tell(t, scope, "held-1") // for as long as the file is there
	got, err := c.gc(t, false)
	is(t, got, "child "+scope.Child(2).Slug)
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != notReclaimed || e.Fix != "boxer fork rm "+scope.Child(1).Slug || !strings.Contains(e.Reason, "is stuck") {
		t.Errorf("%#v", err)
	}
	if err := os.Remove(filepath.Join(scope.Worktree, "held-1")); err != nil {
		t.Fatal(err)
	}
	c.round(t, "child "+scope.Child(1).Slug)
}
