package plan

import (
	"slices"
	"time"
)

// Bound is the time that no deal of units that take these times to n children can go below: that of the longest unit,
// an even share of all, or the two that must meet on one child where n+1 are long.
func Bound(durations []time.Duration, n int) time.Duration {
	n = max(1, n)
	sorted := slices.SortedFunc(slices.Values(durations), func(a, b time.Duration) int { return int(b - a) })
	var sum, bound time.Duration
	for _, d := range sorted {
		sum += d
	}
	if len(sorted) > 0 {
		bound = sorted[0]
	}
	if len(sorted) > n {
		bound = max(bound, sorted[n-1]+sorted[n])
	}
	return max(bound, sum/time.Duration(n))
}

// worthwhile is which part of the time another child must save, since it costs memory and disk too.
const worthwhile = 0.01

// BestCount is the number of children, no more than most, with which units that take these times should be done first; of
// numbers that make next to no difference the smallest. setup is paid once, fork for each child, and children beyond
// the cores only share them.
func BestCount(durations []time.Duration, setup, fork time.Duration, cores, most int) int {
	var sum time.Duration
	for _, d := range durations {
		sum += d
	}
	counts := min(len(durations), most)
	takes := func(n int) time.Duration {
		even := sum / time.Duration(min(n, max(1, cores)))
		return setup + time.Duration(n)*fork + max(Bound(durations, n), even)
	}
	best, least := 1, takes(1)
	for n := 2; n <= counts; n++ {
		if t := takes(n); float64(t) < float64(least)*(1-worthwhile) {
			best, least = n, t
		}
	}
	return best
}
