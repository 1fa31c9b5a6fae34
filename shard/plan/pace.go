package plan

import "slices"

// remembered is how many start-ups count, so that one odd batch does not, nor what was long ago.
const remembered = 15

// pace is what the batches that are done tell of the command: how long it takes to start, and how much longer its units
// take than expected. It is all in seconds.
type pace struct {
	startups         []float64 // of the latest batches whose units were timed
	actual, expected float64   // sums over the batches
}

// add counts a batch. Where the units were not timed, its start-up counts as work: to tell them apart by comparing
// batches of different sizes goes wrong as soon as the expectations do.
func (p *pace) add(expected, wall, inUnits float64) {
	p.expected += expected
	if inUnits <= 0 {
		p.actual += max(0, wall)
		return
	}
	// Units that run side by side take more than the clock shows.
	p.actual += min(wall, inUnits)
	p.startups = append(p.startups, max(0, wall-inUnits))
	p.startups = p.startups[max(0, len(p.startups)-remembered):]
}

// startup is the time that each batch costs beside its units, 0 while it is not known.
func (p *pace) startup() (seconds float64, known bool) {
	if len(p.startups) == 0 {
		return 0, false
	}
	return slices.Sorted(slices.Values(p.startups))[len(p.startups)/2], true
}

// scale is how many seconds an expected second takes.
func (p *pace) scale() float64 {
	if p.actual <= 0 || p.expected <= 0 {
		return 1
	}
	return p.actual / p.expected
}
