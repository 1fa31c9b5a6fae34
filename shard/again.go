package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/plan"
)

// defaultMaxRetried is Options.MaxRetried where it is not set: who broke more than a few tests broke the code.
const defaultMaxRetried = 10

// retry runs what failed again, each time in a fresh fork of the same state, until it passes or the retries are used
// up. Nothing is run again that a build or the runner broke, or that was not run at all.
func (r *run) retry(ctx context.Context, source runner.Source, shards [][]*attempt) {
	if r.options.Retries == 0 || ctx.Err() != nil {
		return
	}
	failed := r.retriable(slices.Concat(shards...))
	count := 0
	for _, a := range failed {
		count += a.failures()
	}
	if count > r.options.MaxRetried {
		r.warn("%s failed, more than the %d that are retried at most: nothing was", text.Plural(count, "test"), r.options.MaxRetried)
		return
	}
	if len(failed) > 0 {
		r.dropAll(ctx)
	}
	for try := 2; try <= r.options.Retries+1 && len(failed) > 0 && ctx.Err() == nil; try++ {
		done := r.round(ctx, source, failed, try)
		for _, a := range done {
			k := slices.IndexFunc(shards, func(s []*attempt) bool { return s[0].number == a.number })
			shards[k] = append(shards[k], a)
		}
		failed = r.retriable(done)
	}
}

// round does all retries of one number, as many at once as there were children.
func (r *run) round(ctx context.Context, source runner.Source, failed []*attempt, try int) []*attempt {
	var g errgroup.Group
	var mu sync.Mutex
	var done []*attempt
	g.SetLimit(r.parallel(r.children()))
	for _, before := range failed {
		g.Go(func() error {
			a := &attempt{number: before.number, total: before.total, batch: before.batch, try: try, jobs: before.failedJobs()}
			r.perform(ctx, source, a)
			if why := before.changed(a); why != "" {
				a.void = true
				r.warn("the retry of %s does not count: %s", before.named(), why)
			}
			if r.deal != nil {
				r.book(a)
			}
			if a.strange != 0 {
				r.cancel(strangeSignal{a.number, a.strange})
			}
			r.drop(ctx, a.child)
			mu.Lock()
			defer mu.Unlock()
			done = append(done, a)
			return nil
		})
	}
	g.Wait()
	return done
}

// dropAll removes the children that have done their work, so that those of the retries find room.
func (r *run) dropAll(ctx context.Context) {
	r.mu.Lock()
	children := slices.Clone(r.forked)
	r.mu.Unlock()
	for _, c := range children {
		r.drop(ctx, c)
	}
}

// retriable are the attempts in which tests failed. A command that failed without a failed test in its report is a
// matter of the build or the runner, unless no command has a report at all: then its exit code is the test.
func (r *run) retriable(attempts []*attempt) []*attempt {
	reported := slices.ContainsFunc(attempts, func(a *attempt) bool { return len(a.collected.reports) > 0 })
	var out []*attempt
	for _, a := range attempts {
		switch {
		case a.redo || a.void || a.started.IsZero():
		case a.hung || a.lost, a.reading.bad() > 0 && (a.state == Passed || a.state == Failed):
			out = append(out, a)
		case a.state == Failed && !reported && len(r.options.JUnit) == 0:
			out = append(out, a)
		}
	}
	return out
}

// failures is how many tests of the attempt failed, at least one.
func (a *attempt) failures() int { return max(a.reading.bad(), 1) }

// failedJobs are the units of which a test failed; all of them where the report does not say which.
func (a *attempt) failedJobs() []plan.Job {
	var failed []plan.Job
	bad := 0
	for _, j := range a.jobs {
		if u := a.reading.units[j.Unit.Key]; u != nil && u.bad > 0 {
			failed = append(failed, j)
			bad += u.bad
		}
	}
	if len(failed) == 0 || bad < a.reading.bad() {
		return a.jobs
	}
	return failed
}

// changed says why a retry cannot be held against the attempt that it repeats: it must have run what failed, and
// nothing that is new.
func (a *attempt) changed(later *attempt) string {
	if !later.reading.whole || !a.reading.whole {
		return ""
	}
	lacks, adds := 0, 0
	for id, bad := range a.reading.tests {
		if _, again := later.reading.tests[id]; bad && !again {
			lacks++
		}
	}
	for id := range later.reading.tests {
		if _, before := a.reading.tests[id]; !before {
			adds++
		}
	}
	switch {
	case lacks > 0:
		return fmt.Sprintf("%s that had failed did not run again", text.Plural(lacks, "test"))
	case adds > 0:
		return fmt.Sprintf("it ran %s that had not run before", text.Plural(adds, "test"))
	}
	return ""
}

// named is the attempt in a message.
func (a *attempt) named() string {
	if title := a.title(); title != "" {
		return title
	}
	return fmt.Sprintf("shard %d/%d", a.number, a.total)
}

func (r *run) warn(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}
