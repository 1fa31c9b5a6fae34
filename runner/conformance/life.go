package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/boxer-ci/boxer/runner"
)

var errEnough = errors.New("enough of it")

func contextOf(b *bench) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(b.ctx())
}

var lifeQuestions = []question{
	{"without a sandbox there is nothing to attach to", askNotRunning},
	{"closing ends what the session started", askCloseEnds},
	{"keep makes it last", askKeep},
	{"closing an attached session leaves the sandbox", askCloseAttached},
	{"a sandbox that another session uses outlives its starter", askOutlive},
	{"down leaves nothing and ends what others run", askDown},
	{"the list tells what is there", askList},
	{"the cleanup is one of three words", askCleanup},
}

func askNotRunning(b *bench) {
	_, err := b.Backend.Attach(b.ctx(), b.Scope)
	b.refused(err, runner.NotRunning)
}

// daemon starts a process in the sandbox that left its session and its parent, and holds the pipe.
func (b *bench) daemon(s runner.Session, name string) *held {
	b.Helper()
	h := b.held()
	c := shell(`setsid sh -c 'echo up >&2; exec sleep 1000' >/dev/null </dev/null & exec >/dev/null`)
	c.Stderr = h.w
	_, err := b.run(s, name, c)
	b.ok(err)
	h.line(b, "up")
	return h
}

func askCloseEnds(b *bench) {
	s := b.start(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Run: "exec sleep 1000"}}
	})
	h := b.daemon(s, "")
	owner := b.owner()
	b.close(s)
	h.gone(b)
	b.nothing(owner)
	b.close(s) // again is no error
	_, err := b.Backend.Attach(b.ctx(), b.Scope)
	b.refused(err, runner.NotRunning)
	if _, err := b.run(s, "", shell("echo never")); err == nil {
		b.Error("a closed session runs commands")
	}
}

func askKeep(b *bench) {
	s := b.start(nil)
	b.sh(s, "", "echo kept >/var/tmp/boxer-"+b.Scope.Key)
	b.Cleanup(func() { removeFile("/var/tmp/boxer-" + b.Scope.Key) })
	b.ok(s.Keep(b.ctx()))
	b.close(s)
	again := b.attach()
	equal(b, "started", again.Started(), false)
	equal(b, "its state", b.sh(again, "", "cat /var/tmp/boxer-"+b.Scope.Key), "kept")
	all, err := again.List(b.ctx())
	b.ok(err)
	equal(b, "lasting", all[0].Lasting, true)
	b.close(again)
	b.close(b.attach())
	third := b.attach()
	b.ok(third.Down(b.ctx()))
}

func askCloseAttached(b *bench) {
	s := b.start(nil)
	other := b.attach()
	equal(b, "works", b.sh(other, "", "echo yes"), "yes")
	b.close(other)
	equal(b, "still works", b.sh(s, "", "echo yes"), "yes")
}

func askOutlive(b *bench) {
	s := b.start(nil)
	owner := b.owner()
	other := b.attach()
	b.close(s)
	equal(b, "works for the other", b.sh(other, "", "echo yes"), "yes")
	b.close(other)
	b.nothing(owner)
}

func askDown(b *bench) {
	s := b.start(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Run: "exec sleep 1000"}}
	})
	b.ok(s.Keep(b.ctx()))
	h := b.daemon(s, "")
	other := b.attach()
	running := b.held()
	c := shell("echo ready; sleep 1000")
	c.Stdout = running.w
	ended := make(chan error, 1)
	go func() {
		_, err := b.run(other, "", c)
		ended <- err
	}()
	running.line(b, "ready")
	owner := b.owner()
	b.ok(s.Down(b.ctx()))
	h.gone(b)
	running.gone(b)
	b.nothing(owner)
	equal(b, "what the other command was told", runner.CauseOf(<-ended), runner.Gone)
	b.ok(s.Down(b.ctx()))
	b.close(s)
	b.close(other)
	_, err := b.Backend.Attach(b.ctx(), b.Scope)
	b.refused(err, runner.NotRunning)
	fresh := b.start(nil) // and the name is free again
	equal(b, "started", fresh.Started(), true)
}

func askList(b *bench) {
	s := b.start(nil)
	all, err := s.List(b.ctx())
	b.ok(err)
	if len(all) != 1 {
		b.Fatalf("%+v", all)
	}
	p := all[0]
	if p.Created.IsZero() {
		b.Error("no time")
	}
	p.Created = all[0].Created
	want := runner.Sandbox{
		Key: b.Scope.Key, Slug: b.Scope.Slug, State: runner.Running, Backend: b.Backend.Kind(), Worktree: b.Scope.Worktree,
		Created: p.Created, Usage: p.Usage,
	}
	equal(b, "the parent", p, want)
}

func askCleanup(b *bench) {
	s := b.start(nil)
	if !slices.Contains([]string{"kernel", "supervised", "best effort"}, s.Cleanup()) {
		b.Errorf("%q", s.Cleanup())
	}
	b.Logf("cleanup: %s", s.Cleanup())
	other := b.attach()
	equal(b, "for an attached session", other.Cleanup(), s.Cleanup())
}
