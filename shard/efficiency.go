package shard

import (
	"time"

	"github.com/boxer-ci/boxer/shard/plan"
)

// Efficiency is how well the children were used.
type Efficiency struct {
	Ratio   float64       // of the children's time, what their commands took; 0 where nothing ran
	Span    time.Duration // from the first command's start to the last one's end
	Bound   time.Duration // no way to deal the same units to as many children is quicker; 0 without a list
	Best    int           // number of children that would have been quickest, by what was measured; 0 is unknown
	Longest string        // key of the unit that took longest, "" without a list
	Share   float64       // its part of the time of all units
	Took    time.Duration // by it
	Known   int           // units of the list of which earlier runs gave a time
}

// efficiency is measured from a run that came to its end.
func (r *run) efficiency(res Result) Efficiency {
	e := Efficiency{Ratio: efficiency(res.Shards)}
	_, e.Span, _ = busy(res.Shards)
	if r.deal == nil || len(res.Shards) == 0 {
		return e
	}
	for _, j := range r.deal.mine {
		if j.Known {
			e.Known++
		}
	}
	var all []time.Duration
	sum := time.Duration(0)
	for key, took := range r.measured() {
		all = append(all, took)
		sum += took
		if took > e.Took || took == e.Took && key < e.Longest {
			e.Longest, e.Took = key, took
		}
	}
	if sum == 0 {
		return e
	}
	e.Share = float64(e.Took) / float64(sum)
	e.Bound = plan.Bound(all, len(res.Shards))
	var forks time.Duration
	for _, s := range res.Shards {
		forks += s.Fork
	}
	e.Best = plan.BestCount(all, res.Setup, forks/time.Duration(len(res.Shards)), r.options.Cores, maxCount)
	return e
}

// efficiency is which part of the children's time was spent on commands: all that they worked, by how many there were
// and the time from the first one's start to the last one's end. It is 0 where nothing ran.
func efficiency(shards []Shard) float64 {
	worked, span, ran := busy(shards)
	if ran == 0 || span <= 0 {
		return 0
	}
	return float64(worked) / float64(ran) / float64(span)
}
