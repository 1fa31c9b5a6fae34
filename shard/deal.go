package shard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/ledger"
	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/timing"
	"github.com/boxer-ci/boxer/shard/units"
)

// deal is the list of a run and how it goes to the children of this node.
type deal struct {
	index   *units.Index
	expects timing.Expectation
	digest  string       // of the plan for all nodes
	mine    []plan.Job   // of this node
	book    *ledger.Book // of mine
	queue   *plan.Queue  // nil for a static plan

	mu    sync.Mutex
	piles [][]plan.Job // of a static plan, by child
	alone []plan.Job   // to be run one by one
}

// newDeal makes the plan. Several nodes share nothing but the list and the timings, so each of them makes the same
// plan for all and takes its own part.
func (o Options) newDeal(list []units.Unit, book *timing.Book) *deal {
	d := &deal{
		index: units.NewIndex(list, o.Dir, o.Scope.Worktree), expects: book.Expect(list),
	}
	jobs := make([]plan.Job, len(list))
	for i, u := range list {
		jobs[i] = plan.Job{Unit: u, Expect: d.expects.Of[u.Key], Known: d.expects.Known[u.Key]}
	}
	if o.Tests.Static {
		parts := plan.Static(jobs, o.total())
		d.piles, d.digest = parts[(o.Node.Index-1)*o.Count:][:o.Count], fingerprint(parts)
		d.mine = slices.Concat(d.piles...)
	} else {
		parts := plan.Static(jobs, o.Node.Total)
		d.mine, d.digest = parts[o.Node.Index-1], fingerprint(parts)
		d.queue = plan.NewQueue(d.mine, o.Count)
	}
	d.book = ledger.New(unitsOf(d.mine), d.expects.Of)
	return d
}

// fingerprint stands for a plan in few bytes: nodes with the same one have together dealt each unit once.
func fingerprint(parts [][]plan.Job) string {
	h := sha256.New()
	for _, part := range parts {
		keys := make([]string, len(part))
		for i, j := range part {
			keys[i] = j.Unit.Key
		}
		slices.Sort(keys)
		fmt.Fprintf(h, "%q\n", keys)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// children is how many of them have something to do.
func (d *deal) children(count int) int { return min(count, len(d.mine)) }

// next is the next batch for the k-th child; empty when there is nothing left.
func (d *deal) next(k int) []plan.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.alone) > 0 {
		batch := d.alone[:1:1]
		d.alone = d.alone[1:]
		return batch
	}
	if d.queue != nil {
		return d.queue.Next()
	}
	batch := d.piles[k]
	d.piles[k] = nil
	return batch
}

// giveBack takes units that have no result yet: back into their pile or the queue, or to be run one by one.
func (d *deal) giveBack(k int, jobs []plan.Job, alone bool) {
	if len(jobs) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case alone:
		d.alone = append(d.alone, jobs...)
	case d.queue != nil:
		d.queue.Return(jobs)
	default:
		d.piles[k] = append(jobs, d.piles[k]...)
	}
}

// left is how many units the k-th child could still get.
func (d *deal) left(k int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.alone)
	if d.queue == nil {
		return n + len(d.piles[k])
	}
	more, _ := d.queue.Left()
	return n + more
}

// done tells the queue how long a batch took.
func (d *deal) done(batch []plan.Job, wall, inUnits time.Duration) {
	if d.queue != nil {
		d.queue.Done(batch, wall, inUnits)
	}
}

// open makes the deal of a run with a list, nil for one without.
func (o Options) open(ctx context.Context, s runner.Session) (*deal, []string, error) {
	if o.Tests == nil {
		return nil, nil, nil
	}
	list, err := o.listUnits(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	book, warnings := o.timings()
	warnings = append(warnings, o.imported(book, list)...)
	d := o.newDeal(list, book)
	return d, append(warnings, d.expects.Warnings...), nil
}

func unitsOf(jobs []plan.Job) []units.Unit {
	out := make([]units.Unit, len(jobs))
	for i, j := range jobs {
		out[i] = j.Unit
	}
	return out
}
