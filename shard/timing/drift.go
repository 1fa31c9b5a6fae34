package timing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/boxer-ci/boxer/report/text"
)

const (
	drifted = 0.5         // of what the book expects
	uniform = 0.25        // less than this is left when all are as much slower or faster
	trifle  = time.Second // units that take less together drift with every breath of the machine
)

// Drift warns where what a run measured is more than half off what the book expects, all units taken together: then
// the plan was made from something else than what ran. It is asked before Update.
func (b *Book) Drift(measured map[string]time.Duration) (warning string) {
	type pair struct {
		key       string
		was, took time.Duration
	}
	var pairs []pair
	var was, took time.Duration
	for key, d := range measured {
		if r, ok := b.units[key]; ok && sane(d.Seconds()) {
			p := pair{key, seconds(median(r.Runs)), d}
			pairs, was, took = append(pairs, p), was+p.was, took+p.took
		}
	}
	off := func(scale float64) float64 {
		sum := 0.0
		for _, p := range pairs {
			sum += math.Abs(p.took.Seconds() - scale*p.was.Seconds())
		}
		return sum
	}
	if max(was, took) < trifle || off(1) <= drifted*was.Seconds() {
		return ""
	}
	if was > 0 && took > 0 {
		if scale := took.Seconds() / was.Seconds(); off(scale) <= uniform*took.Seconds() {
			return fmt.Sprintf("the units took %.1f times what the timings say, all alike: was that another machine?", scale)
		}
	}
	worst := slices.MaxFunc(pairs, func(a, b pair) int {
		byDistance := int64((a.took - a.was).Abs() - (b.took - b.was).Abs())
		switch {
		case byDistance != 0:
			return int(byDistance)
		case a.key < b.key:
			return 1
		}
		return -1
	})
	return fmt.Sprintf("the timings were off by more than half: %s took %s, not %s",
		worst.key, text.Seconds(worst.took), text.Seconds(worst.was))
}
