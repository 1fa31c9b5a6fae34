package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/units"
)

// suite is a made-up list of test files with how long each really takes.
type suite struct {
	name  string
	takes func(*rand.Rand) []time.Duration
}

// suites are those that the plan is judged by.
var suites = []suite{
	{"log-normal", func(r *rand.Rand) []time.Duration {
		return draw(200, func(int) float64 { return math.Exp(r.NormFloat64()) })
	}},
	{"pareto", func(r *rand.Rand) []time.Duration {
		return draw(200, func(int) float64 { return 0.5 * math.Pow(1-r.Float64(), -1/1.5) })
	}},
	{"slow-folder-first", func(r *rand.Rand) []time.Duration {
		return draw(200, func(i int) float64 {
			if i < 20 {
				return 10 * math.Exp(0.3*r.NormFloat64())
			}
			return math.Exp(0.5 * r.NormFloat64())
		})
	}},
	{"five-files-77%", func(r *rand.Rand) []time.Duration {
		all := draw(200, func(int) float64 { return math.Exp(0.5 * r.NormFloat64()) })
		var rest time.Duration
		for _, d := range all[5:] {
			rest += d
		}
		share := []float64{0.85, 0.95, 1, 1.05, 1.15}
		for i := range share {
			all[40*i], all[i] = time.Duration(float64(rest)*0.77/0.23/5*share[i]), all[40*i]
		}
		return all
	}},
}

func draw(n int, seconds func(i int) float64) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(seconds(i) * float64(time.Second))
	}
	return all
}

// trial is a suite with what a plan believes of it.
type trial struct {
	jobs  []plan.Job
	takes []time.Duration          // in the order of the list
	real  map[string]time.Duration // by key
}

// knowledge is how good the timings are.
type knowledge struct {
	name    string
	sigma   float64 // of the logarithm of the error
	unknown float64 // part of the units that has no timings
}

var (
	exact   = knowledge{"exact", 0, 0}
	stale   = knowledge{"stale", 0.3, 0.3}
	nothing = knowledge{"nothing", 0, 1}
)

func newTrial(s suite, k knowledge, seed uint64) trial {
	r := rand.New(rand.NewPCG(seed, 7))
	t := trial{takes: s.takes(r), real: map[string]time.Duration{}}
	var known []time.Duration
	for i, d := range t.takes {
		key := fmt.Sprintf("test/%03d.test.js", i)
		j := plan.Job{Unit: units.Unit{Name: key, Key: key}, Known: r.Float64() >= k.unknown}
		if j.Known {
			j.Expect = time.Duration(float64(d) * math.Exp(k.sigma*r.NormFloat64()))
			known = append(known, j.Expect)
		}
		t.jobs, t.real[key] = append(t.jobs, j), d
	}
	middle := time.Second
	if len(known) > 0 {
		slices.Sort(known)
		middle = known[len(known)/2]
	}
	for i := range t.jobs {
		if !t.jobs[i].Known {
			t.jobs[i].Expect = middle
		}
	}
	return t
}

func (t trial) work(batch []plan.Job) (sum time.Duration) {
	for _, j := range batch {
		sum += t.real[j.Unit.Key]
	}
	return sum
}

func (t trial) ratio(makespan time.Duration, n int) float64 {
	return float64(makespan) / float64(plan.Bound(t.takes, n))
}

func (t trial) static(n int) time.Duration {
	var makespan time.Duration
	for _, list := range plan.Static(t.jobs, n) {
		makespan = max(makespan, t.work(list))
	}
	return makespan
}

// queue lets n children work through the queue, each command of which takes startup before its first unit. told says
// whether the reports name the units' times.
func (t trial) queue(n int, startup time.Duration, told bool) (makespan time.Duration, batches int) {
	q := plan.NewQueue(t.jobs, n)
	type child struct {
		free  time.Duration // when it has done its batch
		batch []plan.Job
	}
	children := make([]child, n)
	for {
		next := 0
		for i := range children {
			if children[i].free < children[next].free {
				next = i
			}
		}
		c := &children[next]
		if c.free == math.MaxInt64 {
			return makespan, batches
		}
		if c.batch != nil {
			inUnits := t.work(c.batch)
			if !told {
				inUnits = 0
			}
			q.Done(c.batch, t.work(c.batch)+startup, inUnits)
		}
		if c.batch = q.Next(); c.batch == nil {
			c.free = math.MaxInt64
			continue
		}
		batches++
		c.free += startup + t.work(c.batch)
		makespan = max(makespan, c.free)
	}
}
