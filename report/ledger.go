package report

import (
	"maps"
	"slices"
)

// ledger notes which tests a shard ran, without keeping them.
type ledger struct {
	ids           []uint64
	files, groups map[string]bool
	cut           bool
}

// newLedger makes room for the cases of a shard's first attempts. There may be some more.
func newLedger(first []*attempt) *ledger {
	room := 0
	if !first[0].Merged {
		room = casesOf(first)
	}
	return &ledger{ids: make([]uint64, 0, room), files: map[string]bool{}, groups: map[string]bool{}}
}

// add notes the tests of a suite, if a command of the shard ran them.
func (l *ledger) add(s *suite) {
	if s.synthetic || s.attempt.Merged {
		return
	}
	for outer := s; outer != nil; outer = outer.parent {
		l.note(l.groups, outer.own, outer.name, outer.file)
	}
	for i := range s.cases {
		c := &s.cases[i]
		l.ids = append(l.ids, c.identity(s.hostname).short())
		l.note(l.groups, c.Classname)
		l.note(l.files, c.File)
	}
}

func (l *ledger) note(set map[string]bool, names ...string) {
	for _, name := range names {
		switch {
		case name == "" || set[name]:
		case len(set) >= maxLedgerNames:
			l.cut = true
		default:
			set[name] = true
		}
	}
}

func (l *ledger) close(s *Shard) {
	slices.Sort(l.ids)
	s.IDs = slices.Clip(slices.Compact(l.ids))
	s.Files = slices.Sorted(maps.Keys(l.files))
	s.Groups = slices.Sorted(maps.Keys(l.groups))
	s.Cut = l.cut
}
