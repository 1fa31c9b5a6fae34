package plan

import (
	"slices"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

// What the sizes of batches are made from. The simulations in the tests chose the numbers, and hold them to their aims.
const (
	early  = 0.5 // a known unit of at least this part of an even share goes before the unknown ones
	doubt  = 2   // a batch counts an unknown unit this many times, for it may be a long one
	first  = 3   // as long as no batch is done, a batch is an even share of what is left divided by this,
	untold = 2   // by this where no batch tells its start-up,
	later  = 1.5 // and by this where one does,
	enough = 30  // but then no more work than this many start-ups, since more would save little,
	last   = 8   // and the whole share when that is worth no more than this many start-ups
)

// Queue deals jobs to children that ask when they are free: the long ones first, and those of which nothing is known
// early, while there is still time to make up for a long one among them. A batch is as large as the start-up of the
// command asks for, and the batches get smaller towards the end. All children may use it at once.
type Queue struct {
	mu      sync.Mutex
	n       float64 // children
	known   []item  // longest first
	unknown []item  // in the order of the list
	mean    float64 // seconds that an unknown job counts, 0 where that is what it expects itself
	waiting float64 // seconds that all jobs in both lists count
	pace    pace
	clock   float64 // seconds of the run so far, as the batches that are done tell it
	out     map[units.Unit]*batch
}

// item is a job that waits.
type item struct {
	Job
	most int // jobs that may be in a batch with it, 0 for any number
}

// batch is what a child has.
type batch struct {
	since, until float64 // when it was dealt, and when it should be done, by the queue's clock
}

// NewQueue makes the queue for n children.
func NewQueue(jobs []Job, n int) *Queue {
	q := &Queue{n: float64(max(1, n)), out: map[units.Unit]*batch{}}
	for _, j := range jobs {
		if j.Known {
			q.known = append(q.known, item{Job: j})
			q.mean += j.Expect.Seconds()
		} else {
			q.unknown = append(q.unknown, item{Job: j})
		}
	}
	q.mean /= max(1, float64(len(q.known)))
	slices.SortStableFunc(q.known, longer)
	for _, j := range jobs {
		q.waiting += q.worth(j)
	}
	return q
}

func longer(a, b item) int { return longestFirst(a.Job, b.Job) }

// Next takes the next batch, or nil when nothing waits. Jobs may still come back by Return.
func (q *Queue) Next() []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.waiting
	jobs := q.take(q.size())
	if len(jobs) == 0 {
		return nil
	}
	startup, _ := q.pace.startup()
	b := &batch{since: q.clock, until: q.clock + startup + (before-q.waiting)*q.pace.scale()}
	for _, j := range jobs {
		q.out[j.Unit] = b
	}
	return jobs
}

// take fills a batch up to about room seconds, with at least one job where one waits.
func (q *Queue) take(room float64) (jobs []Job) {
	most := len(q.known) + len(q.unknown)
	for filled := 0.0; len(jobs) < most; {
		from := q.choose()
		next := (*from)[0]
		counts := q.worth(next.Job)
		weight := counts
		if !next.Known {
			weight *= doubt
		}
		if len(jobs) > 0 && (filled+weight/2 > room || next.most > 0 && len(jobs) >= next.most) {
			break
		}
		*from = (*from)[1:]
		jobs = append(jobs, next.Job)
		filled += weight
		q.waiting -= counts
		if next.most > 0 {
			most = min(most, next.most)
		}
	}
	return jobs
}

// choose gives the list whose first job is next. There must be one.
func (q *Queue) choose() *[]item {
	if len(q.unknown) == 0 || len(q.known) > 0 && q.worth(q.known[0].Job) >= early*q.waiting/q.n {
		return &q.known
	}
	return &q.unknown
}

// size is how many expected seconds of work the next batch should have. What the other children still have counts as
// well: who is free first takes more.
func (q *Queue) size() float64 {
	seen := map[*batch]bool{}
	busy := 0.0
	for _, b := range q.out {
		if !seen[b] {
			seen[b] = true
			busy += max(0, b.until-q.clock)
		}
	}
	scale := q.pace.scale()
	share := (q.waiting + busy/scale) / q.n
	startup, known := q.pace.startup()
	startup /= scale
	switch {
	case !known && q.pace.expected == 0:
		return share / first
	case !known:
		return share / untold
	case share <= last*startup:
		return max(share, startup)
	}
	return min(share/later, enough*startup)
}

// worth is how many seconds a job counts. Of the unknown ones most are short and a few are long, so that their
// mean says more of what they take together than their median.
func (q *Queue) worth(j Job) float64 {
	if !j.Known && q.mean > 0 {
		return q.mean
	}
	return max(0, j.Expect.Seconds())
}

// Done tells what a batch took: wall in all, inUnits in the units themselves, 0 if that is not known.
func (q *Queue) Done(batch []Job, wall, inUnits time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	expected := 0.0
	for _, j := range batch {
		expected += q.worth(j)
	}
	if b := q.out[batch[0].Unit]; b != nil {
		q.clock = max(q.clock, b.since+wall.Seconds())
	}
	q.forget(batch)
	q.pace.add(expected, wall.Seconds(), inUnits.Seconds())
}

// Return puts jobs back that were dealt and are not done, since their child is gone. They come again in batches of at
// most half as many, so that one which ends each child it is in stands alone before long.
func (q *Queue) Return(jobs []Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(jobs)
	var unknown []item
	for _, j := range jobs {
		q.waiting += q.worth(j)
		back := item{Job: j, most: max(1, len(jobs)/2)}
		if !j.Known {
			unknown = append(unknown, back)
			continue
		}
		at, _ := slices.BinarySearchFunc(q.known, back, longer)
		q.known = slices.Insert(q.known, at, back)
	}
	q.unknown = append(unknown, q.unknown...)
}

func (q *Queue) forget(jobs []Job) {
	for _, j := range jobs {
		delete(q.out, j.Unit)
	}
}

// Left is how many jobs wait, and how long they should take one child at the pace of this run.
func (q *Queue) Left() (jobs int, work time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.known) + len(q.unknown), time.Duration(max(0, q.waiting) * q.pace.scale() * float64(time.Second))
}
