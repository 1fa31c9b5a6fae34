package report

import (
	"maps"
	"slices"
)

// ledger notes which tests a shard ran, without keeping them.
type ledger struct {
	ids           [][]uint64 // in pieces: to grow, one slice would need its own size once more
	files, groups map[string]bool
	cut           bool
}

func newLedger() *ledger {
	return &ledger{files: map[string]bool{}, groups: map[string]bool{}}
}

func (l *ledger) add(s *suite) {
	for outer := s; outer != nil; outer = outer.parent {
		l.note(l.groups, outer.own, outer.name, outer.file)
	}
	for i := range s.cases {
		c := &s.cases[i]
		l.addID(c.identity(s.hostname).short())
		l.note(l.groups, c.Classname)
		l.note(l.files, c.File)
	}
}

// idPiece is the length of one piece of ids.
const idPiece = 1 << 15

func (l *ledger) addID(id uint64) {
	last := len(l.ids) - 1
	if last < 0 || len(l.ids[last]) == idPiece {
		l.ids = append(l.ids, nil)
		last++
	}
	l.ids[last] = append(l.ids[last], id)
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
	ids := slices.Concat(l.ids...)
	l.ids = nil
	slices.Sort(ids)
	s.IDs = slices.Clip(slices.Compact(ids))
	s.Files = slices.Sorted(maps.Keys(l.files))
	s.Groups = slices.Sorted(maps.Keys(l.groups))
	s.Cut = l.cut
}
