package shard

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/screen"
)

// run is one call of Run.
type run struct {
	options Options
	session runner.Session
	dir     *reportDir
	screen  screen.Screen
	started time.Time
	outer   context.Context         // the caller's
	cancel  context.CancelCauseFunc // ends what the shards do
	killed  context.Context         // ended: no more waiting

	mu       sync.Mutex
	children []runner.Child // all that were made and must be removed
	lastFork time.Time
}

func newRun(o Options, s runner.Session, d *reportDir) *run {
	return &run{options: o, session: s, dir: d, screen: o.screen(), started: time.Now()}
}

func (r *run) do(ctx context.Context) (Result, error) {
	r.outer = ctx
	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	killed, unwatch := killContext(ctx, r.options.Kill)
	defer unwatch()
	r.killed = killed
	stop := r.removeWhenKilled()
	defer stop()

	r.screen.Open()
	source, err := r.source(ctx)
	attempts := make([]*attempt, r.options.Count)
	if err == nil {
		r.fanOut(ctx, source, attempts)
	} else {
		for k := range attempts {
			attempts[k] = r.notRun(ctx, k, err)
		}
	}
	return r.conclude(ctx, source, attempts)
}

// source freezes the parent once. It is kept to the end of the run, for whatever must be done again in a fresh fork.
func (r *run) source(ctx context.Context) (runner.Source, error) {
	if sharer, ok := r.session.(runner.Sharer); ok {
		return sharer.Share(ctx)
	}
	forker, ok := r.session.(runner.Forker)
	if !ok {
		return nil, &runner.Error{Reason: "this backend can neither copy a sandbox nor share it", Cause: runner.Unsupported}
	}
	return forker.Freeze(ctx, runner.ForkOptions{Worktree: r.options.Worktree})
}

// fanOut runs all shards at once, each as soon as its child is there. What becomes of a shard is data: no shard's
// trouble ends another's, unless it was asked to.
func (r *run) fanOut(ctx context.Context, source runner.Source, attempts []*attempt) {
	var g errgroup.Group
	for k := range attempts {
		g.Go(func() error {
			attempts[k] = r.shard(ctx, source, k)
			return nil
		})
	}
	g.Wait()
}

func (r *run) shard(ctx context.Context, source runner.Source, k int) *attempt {
	number := r.options.number(k)
	r.screen.State(number, "forking")
	begin := time.Now()
	child, fault, err := r.fork(ctx, source)
	if err != nil {
		a := r.notRun(ctx, k, err)
		r.screen.State(number, string(a.state))
		return a
	}
	a := r.command(ctx, child, number)
	a.forkBegun, a.forkTook, a.forkFault = begin, a.begun.Sub(begin), fault
	r.screen.State(number, string(a.state))
	switch {
	case a.strange != 0:
		r.cancel(strangeSignal{number, a.strange})
	case a.state != Passed && r.options.FailFast:
		r.cancel(failFast{number})
	}
	return a
}

// fork makes a child, and tries once more if that fails. From the moment it is there it is on the list of what must be
// removed. Fault is the error of a first try that did not matter in the end.
func (r *run) fork(ctx context.Context, source runner.Source) (child runner.Child, fault, err error) {
	child, err = source.Fork(ctx)
	if err != nil && ctx.Err() == nil {
		fault = err
		child, err = source.Fork(ctx)
	}
	if err != nil {
		return child, fault, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children = append(r.children, child)
	r.lastFork = time.Now()
	return child, fault, nil
}

// notRun is the attempt of a shard whose command never started.
func (r *run) notRun(ctx context.Context, k int, err error) *attempt {
	a := &attempt{number: r.options.number(k), total: r.options.total(), state: Lost, err: err}
	a.notRun = "could not be forked: " + err.Error()
	if ctx.Err() != nil {
		a.state, a.err = Cancelled, nil
		a.notRun = context.Cause(ctx).Error()
	}
	a.reason = a.notRun
	return a
}

// startError is the error of a run in which no shard got as far as its command.
func startError(attempts []*attempt) error {
	for _, a := range attempts {
		if a.state != Lost || a.notRun == "" {
			return nil
		}
	}
	if e, ok := errors.AsType[*runner.Error](attempts[0].err); ok {
		return e
	}
	return (&runner.Error{
		Reason: "no shard could be started", Cause: runner.BackendFailed, Fix: "boxer doctor",
	}).Because(attempts[0].err)
}
