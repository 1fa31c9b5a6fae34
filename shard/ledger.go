package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
)

// enoughCases make two equal sets of tests no coincidence, even where no case names its file.
const enoughCases = 10

// balance looks whether each test ran once. Nothing was dealt here, so the shards' reports are the only witnesses:
// what a command was to run is not known, but that a report is missing is, and that two shards ran the same.
func balance(shards []Shard, rep report.Result, configured bool) Ledger {
	return balanceNodes(shards, rep, configured, nil, nil)
}

// balanceNodes does it for the shards of several nodes, some of which are missing; notes are those of the nodes.
func balanceNodes(shards []Shard, rep report.Result, configured bool, missing []int, notes []string) Ledger {
	l := Ledger{Notes: notes}
	tests, unchecked := 0, []int{}
	for _, s := range shards {
		if s.Checked {
			tests += s.Tests
		} else if !configured && s.State != Lost && s.State != Cancelled {
			unchecked = append(unchecked, s.Number)
		}
	}
	for _, e := range rep.ErrorCases {
		if i := indexOf(shards, e.Shard); i >= 0 && shards[i].Checked {
			tests--
		}
	}
	parts := append(notEnded(shards), unread(shards, rep, configured)...)
	if len(missing) > 0 {
		parts = append(parts, "missing: "+text.ListOf("node", missing))
	}
	l.Closed = len(unread(shards, rep, configured)) == 0 && len(missing) == 0
	doubled := l.doubled(shards)
	parts = append(parts, doubled...)
	l.shared(rep)
	head := []string{text.Plural(len(shards), "shard")}
	switch {
	case len(unchecked) == len(shards):
		parts = append(parts, "not checked: no report")
	case len(unchecked) > 0:
		parts = append(parts, "not checked: no report from "+text.List(unchecked))
	}
	if len(unchecked) < len(shards) {
		head = append(head, text.Plural(tests, "test"))
	}
	if len(parts) == 0 {
		parts = append(parts, l.once())
	}
	l.Line = strings.Join(append(head, parts...), " · ")
	return l
}

func (l *Ledger) once() string {
	if len(l.Notes) > 0 {
		return "some ran more than once"
	}
	return "each ran once"
}

// notEnded are the shards of which not all that they should have run can have run.
func notEnded(shards []Shard) []string {
	words := map[State]string{
		Lost: "%s lost", Cancelled: "%s stopped", TimedOut: "%s at the time limit", NotFound: "%s did not start",
		NotExecutable: "%s did not start",
	}
	var parts []string
	for _, state := range []State{Lost, TimedOut, Cancelled, NotFound, NotExecutable} {
		var numbers []int
		for _, s := range shards {
			if s.State == state {
				numbers = append(numbers, s.Number)
			}
		}
		if len(numbers) > 0 {
			parts = append(parts, fmt.Sprintf(words[state], text.List(numbers)))
		}
	}
	return parts
}

// unread are the shards that came to their own end and left no whole report where one was asked for.
func unread(shards []Shard, rep report.Result, configured bool) []string {
	if !configured {
		return nil
	}
	standing := map[int]bool{}
	for _, e := range rep.ErrorCases {
		standing[e.Shard] = true
	}
	var gone, broken []int
	for _, e := range rep.Unread {
		i := indexOf(shards, e.Shard)
		switch {
		case i < 0 || !standing[e.Shard] || (shards[i].State != Passed && shards[i].State != Failed):
		case e.Kind == report.Missing && !slices.Contains(gone, e.Shard):
			gone = append(gone, e.Shard)
		case e.Kind != report.Missing && !slices.Contains(broken, e.Shard):
			broken = append(broken, e.Shard)
		}
	}
	return unreadParts(gone, broken)
}

func unreadParts(gone, broken []int) []string {
	var parts []string
	if len(gone) > 0 {
		parts = append(parts, "missing: the report of "+text.List(gone))
	}
	if len(broken) > 0 {
		parts = append(parts, "cannot be read whole: the report of "+text.List(broken))
	}
	return parts
}

// doubled finds shards whose whole sets of tests are equal. Where these are large enough or name their files, the
// command ignores the shard it was given.
func (l *Ledger) doubled(shards []Shard) []string {
	var parts []string
	seen := map[int]bool{}
	for i, s := range shards {
		if seen[i] || s.Identity.Tests == 0 {
			continue
		}
		same := []int{s.Number}
		for j := i + 1; j < len(shards); j++ {
			if s.Identity == shards[j].Identity {
				same, seen[j] = append(same, shards[j].Number), true
			}
		}
		switch tests := s.Identity.Tests; {
		case len(same) == 1:
		case s.Identity.telling():
			l.Closed = false
			parts = append(parts, fmt.Sprintf("%s ran the same %s: the command ignores the shard index", text.List(same), text.Plural(tests, "test")))
		default:
			l.Notes = append(l.Notes, fmt.Sprintf("%s ran tests of the same names (%d)", text.List(same), tests))
		}
	}
	return parts
}

// shared notes tests that ran in every shard while others did not: those of a set-up that each shard needs.
func (l *Ledger) shared(rep report.Result) {
	if len(rep.Shards) < 2 {
		return
	}
	common, alike := slices.Clone(rep.Shards[0].IDs), true
	for _, s := range rep.Shards[1:] {
		alike = alike && slices.Equal(s.IDs, rep.Shards[0].IDs)
		common = slices.DeleteFunc(common, func(id uint64) bool {
			_, found := slices.BinarySearch(s.IDs, id)
			return !found
		})
	}
	if !alike && len(common) > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s ran in every shard", text.Plural(len(common), "test")))
	}
}

func indexOf(shards []Shard, number int) int {
	return slices.IndexFunc(shards, func(s Shard) bool { return s.Number == number })
}
