package shard

import "time"

// efficiency is which part of the children's time was spent on tests: all that they worked, by how many there were
// and the time from the first one's start to the last one's end. It is 0 where nothing ran.
func efficiency(shards []Shard) float64 {
	var first, last time.Time
	busy, ran := time.Duration(0), 0
	for _, s := range shards {
		if s.Started.IsZero() {
			continue
		}
		end := s.Started.Add(s.Wall)
		if ran == 0 || s.Started.Before(first) {
			first = s.Started
		}
		if end.After(last) {
			last = end
		}
		busy, ran = busy+s.Wall, ran+1
	}
	makespan := last.Sub(first)
	if ran == 0 || makespan <= 0 {
		return 0
	}
	return float64(busy) / float64(ran) / float64(makespan)
}
