// Package timing keeps how long each unit took in earlier runs: the file that plans are made from.
//
// It reads and writes that one file and the lock beside it. Nothing in it may stop a run: what cannot be read is set
// aside and told, what makes no sense is left out, and a unit that nobody has timed counts as the median. A unit has
// its last five runs, and their median is what counts, so that one bad run does no harm.
package timing

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	schema  = 1
	kept    = 5
	longest = 7 * 24 * time.Hour // a unit that took longer was not measured
)

// Book is what is known of the units, by key.
type Book struct {
	units map[string]record
}

// record is what the file says of one unit.
type record struct {
	Runs []float64 `json:"runs"`          // seconds, the latest last
	Last time.Time `json:"last,omitzero"` // when the latest run ended
}

// document is the file.
type document struct {
	Schema int               `json:"schema"`
	Units  map[string]record `json:"units"`
}

// Update adds a run's measurements. What is negative or absurdly long is left out.
func (b *Book) Update(measured map[string]time.Duration) { b.add(measured, time.Time{}) }

func (b *Book) add(measured map[string]time.Duration, at time.Time) {
	if b.units == nil {
		b.units = map[string]record{}
	}
	for key, took := range measured {
		if !sane(took.Seconds()) {
			continue
		}
		r := b.units[key]
		runs := append(slices.Clone(r.Runs), math.Round(took.Seconds()*1000)/1000)
		last := r.Last
		if at.After(last) {
			last = at
		}
		b.units[key] = record{Runs: runs[max(0, len(runs)-kept):], Last: last}
	}
}

// encode writes a unit on each line, in the order of their keys, so that two files can be compared.
func (b *Book) encode() ([]byte, error) {
	text := fmt.Appendf(nil, `{"schema":%d,"units":{`, schema)
	for i, key := range slices.Sorted(maps.Keys(b.units)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		runs, err := json.Marshal(b.units[key])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "\n%s:%s", name, runs)
	}
	return append(text, "\n}}\n"...), nil
}

func sane(seconds float64) bool { return seconds >= 0 && seconds <= longest.Seconds() }

// median is of the middle two where there is an even number, and 0 of none.
func median[T float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}
