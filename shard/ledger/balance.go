package ledger

import (
	"fmt"
	"slices"

	"github.com/boxer-ci/boxer/report/text"
)

// maxNamed is how many units a line names.
const maxNamed = 3

// Balance is what the books say about the whole list.
type Balance struct {
	Closed bool     // no unit is missing or doubled
	Parts  []string // what is wrong or open, in words; empty where each unit ran once
	Notes  []string // what looks odd and is no fault
}

// Balance says whether each unit ran once. Stopped tells that the run was ended early on purpose: then units that never
// ran are no fault of the books. The verdicts must have been given by Close.
func (b *Book) Balance(stopped bool) Balance {
	out := Balance{Closed: true}
	if missing := b.Keys(IsMissing); len(missing) > 0 {
		out.Closed = false
		out.Parts = append(out.Parts, fmt.Sprintf("missing: %s left no result (%s)", text.Plural(len(missing), "unit"), some(missing)))
	}
	if open := b.Keys(IsNotRun); len(open) > 0 {
		out.Closed = out.Closed && stopped
		out.Parts = append(out.Parts, fmt.Sprintf("%s never ran (%s)", text.Plural(len(open), "unit"), some(open)))
	}
	b.doubled(&out)
	return out
}

// enoughCommands with the same unit make it a set-up that each needs. Of two it may just as well be the wrong one.
const enoughCommands = 3

// doubled finds units that ran where they were not given, too.
func (b *Book) doubled(out *Balance) {
	var twice, everywhere []string
	for _, e := range b.entries {
		also := len(b.others[e.Unit.Key])
		switch {
		case also == 0:
		case also+1 >= len(b.commands) && len(b.commands) >= enoughCommands:
			everywhere = append(everywhere, e.Unit.Key)
		default:
			twice = append(twice, e.Unit.Key)
		}
	}
	if len(everywhere) > 0 && len(everywhere) < len(b.entries) {
		out.Notes = append(out.Notes, fmt.Sprintf("every command ran %s (%s): a set-up that each needs?", text.Plural(len(everywhere), "unit"), some(everywhere)))
	} else {
		twice = append(twice, everywhere...)
	}
	if len(twice) > 0 {
		out.Closed = false
		out.Parts = append(out.Parts, fmt.Sprintf("doubled: %s also ran where it was not given (%s)", text.Plural(len(twice), "unit"), some(twice)))
	}
}

// ByCommand says whether an exit code is all that is known of a unit's last go.
func (b *Book) ByCommand() bool {
	return slices.ContainsFunc(b.entries, func(e *Entry) bool {
		return len(e.Goes) > 0 && !e.Goes[len(e.Goes)-1].Report
	})
}

func some(keys []string) string { return text.FirstOf(keys, maxNamed) }
