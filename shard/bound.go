package shard

import (
	"fmt"
	"time"

	"github.com/boxer-ci/boxer/report/text"
)

// bound says in one sentence what keeps a run from being faster, if there is something to say.
func bound(res Result, cores int) string {
	longest, sum, ran := Shard{}, time.Duration(0), 0
	for _, s := range res.Shards {
		if s.Started.IsZero() {
			continue
		}
		ran++
		sum += s.worked()
		if s.Wall > longest.Wall {
			longest = s
		}
	}
	if ran < 2 || longest.Wall < 100*time.Millisecond {
		return ""
	}
	mean := sum / time.Duration(ran)
	e, fork := res.Efficiency, res.Fork
	switch {
	case e.Longest != "" && e.Took >= e.Bound && e.Share*float64(ran) > 1.1:
		return fmt.Sprintf("%s is %.0f %% of all time: split it, more children will not help", e.Longest, 100*e.Share)
	case fork > longest.Wall:
		return fmt.Sprintf("forking took longer than the longest shard (%s): fewer children would help", text.Seconds(longest.Wall))
	case longest.Wall > mean+mean/2:
		return fmt.Sprintf("shard %d took %s, the mean is %s: a more even split would help, more children will not",
			longest.Number, text.Seconds(longest.Wall), text.Seconds(mean))
	case ran >= cores:
		return fmt.Sprintf("%d children on %s: more cores would help, more children will not", ran, text.Plural(cores, "core"))
	}
	return fmt.Sprintf("%d children on %d cores, evenly split: more children would help", ran, cores)
}
