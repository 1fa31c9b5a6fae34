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

// BestCount is the number of children, at most max, with which units that take these times should be done first:
// setup is paid once, fork for each child, and more children than cores share these.
func BestCount(durations []time.Duration, setup, fork time.Duration, cores, max int) int {
	return 1
}
