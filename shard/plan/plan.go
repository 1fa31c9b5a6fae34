// Package plan decides which child gets which units: all beforehand, or a batch whenever a child is free.
//
// It only calculates. It never waits, starts nothing and reads no clock, so a run of it can be replayed. Longest first
// is all the cleverness there is: it is within a percent or two of the best that can be had, and what costs time in
// practice is timings that are wrong, which only a queue can answer.
package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

// Job is a unit with what is expected of it.
type Job struct {
	Unit   units.Unit
	Expect time.Duration // the median of earlier runs, or of the other units
	Known  bool          // there were earlier runs
}

// Static deals all jobs to n children, of which some may get none: the longest first, each to the child that has the
// least. The same jobs give the same lists, in whatever order they come.
func Static(jobs []Job, n int) [][]Job {
	lists := make([][]Job, max(1, n))
	loads := make([]time.Duration, len(lists))
	sorted := slices.Clone(jobs)
	slices.SortStableFunc(sorted, longestFirst)
	for _, j := range sorted {
		least := 0
		for i := range lists {
			if cmp.Or(cmp.Compare(loads[i], loads[least]), cmp.Compare(len(lists[i]), len(lists[least]))) < 0 {
				least = i
			}
		}
		lists[least] = append(lists[least], j)
		loads[least] += j.Expect
	}
	return lists
}

func longestFirst(a, b Job) int {
	return cmp.Or(cmp.Compare(b.Expect, a.Expect), cmp.Compare(a.Unit.Key, b.Unit.Key), cmp.Compare(a.Unit.Name, b.Unit.Name))
}
