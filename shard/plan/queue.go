package plan

import (
	"slices"
	"sync"
	"time"
)

// Queue deals jobs to children that ask when they are free. It may be used by all of them at once.
type Queue struct {
	mu   sync.Mutex
	n    int
	jobs []Job
}

// NewQueue makes the queue for n children.
func NewQueue(jobs []Job, n int) *Queue {
	q := &Queue{n: max(1, n), jobs: slices.Clone(jobs)}
	slices.SortStableFunc(q.jobs, longestFirst)
	return q
}

// Next takes the next batch, or nil when nothing is left.
func (q *Queue) Next() []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return nil
	}
	batch := q.jobs[:1:1]
	q.jobs = q.jobs[1:]
	return batch
}

// Done tells what a batch took: wall in all, inUnits in the units themselves, 0 if that is not known.
func (q *Queue) Done(batch []Job, wall, inUnits time.Duration) {}

// Return puts jobs back that were dealt and not done, since their child is gone.
func (q *Queue) Return(jobs []Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(slices.Clone(jobs), q.jobs...)
	slices.SortStableFunc(q.jobs, longestFirst)
}

// Left is what has not been dealt yet, and how long that should take one child.
func (q *Queue) Left() (jobs int, work time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		work += j.Expect
	}
	return len(q.jobs), work
}
