package report

import (
	"cmp"
	"slices"
	"strings"
)

// slowest keeps the cases that took longest. It takes in twice as many as it gives out before it drops the quicker
// half, so that a million cases cost little more than the look at each.
type slowest struct {
	cases []Case
	least float64 // what a case must exceed to be among them
}

func (s *slowest) add(c *Case) {
	if c.Seconds <= s.least {
		return
	}
	s.cases = append(s.cases, named(c))
	if len(s.cases) == 2*maxSlowest {
		s.cases = s.list()
		s.least = s.cases[maxSlowest-1].Seconds
	}
}

// list gives them, the longest first.
func (s *slowest) list() []Case {
	slices.SortStableFunc(s.cases, func(a, b Case) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return s.cases[:min(len(s.cases), maxSlowest)]
}

// named is the case without its texts, in memory of its own: a name read from a report shares that of its neighbours.
func named(c *Case) Case {
	return Case{
		Shard: c.Shard, Attempt: c.Attempt, Suite: strings.Clone(c.Suite), Classname: strings.Clone(c.Classname),
		Name: strings.Clone(c.Name), File: strings.Clone(c.File), Line: c.Line, Status: c.Status, Seconds: c.Seconds,
	}
}
