package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/screen"
)

// run is one call of Run.
type run struct {
	options Options
	session runner.Session
	dir     *reportDir
	screen  screen.Screen
	deal    *deal // of a test list; nil without one
	started time.Time
	outer   context.Context         // the caller's
	cancel  context.CancelCauseFunc // ends what the shards do
	killed  context.Context         // ended: no more waiting

	mu       sync.Mutex
	forked   []runner.Child // children that were made and must be removed
	warnings []string
}

func newRun(o Options, s runner.Session, d *reportDir, list *deal) *run {
	r := &run{options: o, session: s, dir: d, deal: list, started: time.Now()}
	r.screen = o.screen(r.children())
	return r
}

// children is how many of them the run has: with a list no more than there are units, and than may work at once.
func (r *run) children() int {
	if r.deal != nil {
		return r.deal.children(r.parallel(r.options.Count))
	}
	return r.options.Count
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
	shards := make([][]*attempt, r.children())
	var source runner.Source
	var err error
	if len(shards) > 0 {
		source, err = r.source(ctx)
	}
	if err == nil {
		r.fanOut(ctx, source, shards)
		shards = slices.DeleteFunc(shards, func(attempts []*attempt) bool { return len(attempts) == 0 }) // nothing was left for it
		r.retry(ctx, source, shards)
	} else {
		for k := range shards {
			shards[k] = []*attempt{r.notRun(ctx, k, err)}
		}
	}
	return r.conclude(ctx, source, shards)
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

// shares says whether all children share one machine: its /tmp, its processes, its signals.
func (r *run) shares() bool {
	_, shares := r.session.(runner.Sharer)
	return shares
}

// fanOut runs all shards at once, each as soon as its child is there. What becomes of a shard is data: no shard's
// trouble ends another's, unless it was asked to.
func (r *run) fanOut(ctx context.Context, source runner.Source, shards [][]*attempt) {
	var first [][]plan.Job
	if r.deal != nil {
		for k := range shards {
			first = append(first, r.deal.next(k))
		}
	}
	var g errgroup.Group
	g.SetLimit(r.parallel(len(shards)))
	for k := range shards {
		g.Go(func() error {
			if r.deal != nil {
				shards[k] = r.serve(ctx, source, k, first[k])
			} else {
				shards[k] = []*attempt{r.shard(ctx, source, k)}
			}
			return nil
		})
	}
	g.Wait()
}

// parallel is how many children may be at work at once.
func (r *run) parallel(count int) int {
	if r.options.Parallel > 0 {
		return min(r.options.Parallel, max(count, 1))
	}
	return max(count, 1)
}

func (r *run) shard(ctx context.Context, source runner.Source, k int) *attempt {
	a := &attempt{number: r.options.number(k), total: r.options.total(), try: 1}
	r.perform(ctx, source, a)
	if a.strange != 0 {
		r.cancel(strangeSignal{a.number, a.strange})
	} else if a.state != Passed && a.started.After(time.Time{}) && r.options.FailFast {
		r.cancel(failFast{a.number})
	}
	return a
}

// perform runs an attempt in a child of its own.
func (r *run) perform(ctx context.Context, source runner.Source, a *attempt) {
	r.screen.State(a.number, "forking")
	if r.forkFor(ctx, source, a) {
		r.command(ctx, a)
		r.read(a)
	}
	r.screen.State(a.number, string(a.state))
}

// forkFor makes the child of an attempt. If there is none, the attempt has ended.
func (r *run) forkFor(ctx context.Context, source runner.Source, a *attempt) bool {
	begin := time.Now()
	child, fault, err := r.fork(ctx, source)
	if err != nil {
		r.neverRan(ctx, a, err)
		return false
	}
	a.child, a.forkBegun, a.forkTook, a.forkFault = child, begin, time.Since(begin), fault
	return true
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
	r.forked = append(r.forked, child)
	return child, fault, nil
}

// notRun is the attempt of a shard whose command never started.
func (r *run) notRun(ctx context.Context, k int, err error) *attempt {
	a := &attempt{number: r.options.number(k), total: r.options.total(), try: 1}
	r.neverRan(ctx, a, err)
	return a
}

func (r *run) neverRan(ctx context.Context, a *attempt, err error) {
	a.reading = &reading{}
	a.state, a.err = Lost, err
	a.notRun = "could not be forked: " + err.Error()
	if ctx.Err() != nil {
		a.state, a.err = Cancelled, nil
		a.notRun = context.Cause(ctx).Error()
	}
	a.reason = a.notRun
}

// startError is the error of a run in which no shard got as far as its command.
func startError(shards [][]*attempt) error {
	attempts := slices.Concat(shards...)
	if len(attempts) == 0 {
		return nil
	}
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
