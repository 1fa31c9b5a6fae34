package timing

import (
	"fmt"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

const (
	// unmeasured is what a unit counts where nothing is known of any.
	unmeasured = time.Second
	// least is the shortest that a unit counts, so that no number of them is for free.
	least = time.Millisecond
)

// Expectation is what the book says of a list of units.
type Expectation struct {
	Of             map[string]time.Duration // by key, of every unit; one that is not known counts as the median
	Known          map[string]bool          // by key, those of which a run is known
	Matched, Total int                      // units that are known, and all
	Warnings       []string                 // why the plan may be a poor one
}

// Expect says how long each unit should take.
func (b *Book) Expect(list []units.Unit) Expectation {
	e := Expectation{Of: map[string]time.Duration{}, Known: map[string]bool{}, Total: len(list)}
	var known []time.Duration
	for _, u := range list {
		if r, ok := b.units[u.Key]; ok {
			took := max(least, seconds(median(r.Runs)))
			e.Of[u.Key], e.Known[u.Key] = took, true
			known = append(known, took)
		}
	}
	e.Matched = len(known)
	middle := b.middle(known)
	for _, u := range list {
		if !e.Known[u.Key] {
			e.Of[u.Key] = middle
		}
	}
	e.Warnings = b.doubts(known, len(list))
	return e
}

// middle is the median of the units that are known, or of the whole book where none of the list is.
func (b *Book) middle(known []time.Duration) time.Duration {
	if len(known) > 0 {
		return median(known)
	}
	for _, r := range b.units {
		known = append(known, max(least, seconds(median(r.Runs))))
	}
	if len(known) > 0 {
		return median(known)
	}
	return unmeasured
}

func (b *Book) doubts(known []time.Duration, total int) []string {
	var warnings []string
	if len(b.units) > 0 && 2*len(known) < total {
		warnings = append(warnings, fmt.Sprintf("the timings know %d of the %d units: were these renamed, or the timings made from another folder?",
			len(known), total))
	}
	if len(known) >= 3 && allEqual(known) {
		warnings = append(warnings, fmt.Sprintf("the timings of all %d units that they know are equal: no run has measured them", len(known)))
	}
	return warnings
}

func allEqual(all []time.Duration) bool {
	for _, d := range all {
		if d != all[0] {
			return false
		}
	}
	return true
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
