// Package ledger keeps the books of a test list: to which child each unit was given, in which order, and what came of
// it. From the books it says whether each unit ran once, and which ones a later run should do again.
//
// It only counts what it is told, and reads and writes no file but the one that Load names. Each unit has all the
// times that it was given out, not just the last: whoever looks for tests that depend on their order needs the order.
package ledger

import (
	"slices"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

// Outcome is how one go of one unit ended.
type Outcome string

// The outcomes of a go. One that was interrupted is no go: the unit was given out again, or the run was stopped.
const (
	Given       Outcome = "given"       // not ended yet
	Passed      Outcome = "passed"      //
	Failed      Outcome = "failed"      //
	NoResult    Outcome = "no result"   // its command ended, and the report tells of other units only
	Hung        Outcome = "hung"        // it was over its time limit
	Lost        Outcome = "lost"        // its child ended while it ran
	Interrupted Outcome = "interrupted" // its command was ended for another unit's sake, or with the run
)

// Verdict is what the books say of a unit when the run is over.
type Verdict string

// The verdicts. A flaky unit failed and then passed in a fresh child; a real one failed in every retry.
const (
	IsPassed   Verdict = "passed"
	IsFailed   Verdict = "failed" // and was not retried
	IsFlaky    Verdict = "flaky"
	IsReal     Verdict = "real"
	IsMissing  Verdict = "no result"
	IsNotRun   Verdict = "not run"
	isProgress Verdict = ""
)

// Bad says whether the unit did not pass.
func (v Verdict) Bad() bool { return v != IsPassed && v != IsFlaky }

// Go is one time that a unit was given to a child.
type Go struct {
	Shard   int // from 1
	Batch   int // of the shard, from 1
	Attempt int // from 1; later ones are retries
	Order   int // in the child, from 1
	Child   string
	Started time.Time     // of its command
	Took    time.Duration // as its report says, or its part of the command's time
	Cases   int           // of the report
	Bad     int           // of them
	Outcome Outcome
	Report  bool // the outcome is that of a report; false: of the command's exit code
}

// Entry is a unit with all its goes, in order.
type Entry struct {
	Unit    units.Unit
	Expect  time.Duration
	Goes    []Go
	Verdict Verdict // set by Close
}

// Book is the books of one run. It may be used from several goroutines at once.
type Book struct {
	mu      sync.Mutex
	entries []*Entry // as listed
	of      map[string]*Entry
	orders  map[string]int // goes so far, by child

	commands map[string]bool            // all of them, by a name of their own
	others   map[string]map[string]bool // those whose reports tell of a unit that they were not given, by its key
}

// New opens the books for a list. Expect gives the expected time of each unit by key; nil for none.
func New(list []units.Unit, expect map[string]time.Duration) *Book {
	b := &Book{of: map[string]*Entry{}, orders: map[string]int{}, commands: map[string]bool{}, others: map[string]map[string]bool{}}
	for _, u := range list {
		e := &Entry{Unit: u, Expect: expect[u.Key]}
		b.entries, b.of[u.Key] = append(b.entries, e), e
	}
	return b
}

// Give notes that the units are about to run in a child, in this order. Fresh says that nothing ran in it before: names
// of children come again.
func (b *Book) Give(batch []units.Unit, g Go, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fresh {
		b.orders[g.Child] = 0
	}
	for _, u := range batch {
		b.orders[g.Child]++
		g.Order, g.Outcome = b.orders[g.Child], Given
		e := b.of[u.Key]
		e.Goes = append(e.Goes, g)
	}
}

// End notes how the last go of a unit ended.
func (b *Book) End(key string, end func(*Go)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.of[key]; e != nil && len(e.Goes) > 0 {
		end(&e.Goes[len(e.Goes)-1])
	}
}

// Command notes that a command has ended, and the keys of units that its report tells of although they were not given to
// it. A retry has the name of the command that it repeats.
func (b *Book) Command(name string, others []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commands[name] = true
	for _, key := range others {
		if b.others[key] == nil {
			b.others[key] = map[string]bool{}
		}
		b.others[key][name] = true
	}
}

// Close gives each unit its verdict.
func (b *Book) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		e.Verdict = verdict(e.Goes)
	}
}

// Entries are the units as listed. The book must not change meanwhile.
func (b *Book) Entries() []*Entry { return b.entries }

// verdict looks at the goes that came to an end.
func verdict(goes []Go) Verdict {
	failed, retried, last := false, false, isProgress
	for _, g := range goes {
		switch g.Outcome {
		case Passed:
			last = IsPassed
		case Failed, Hung, Lost:
			failed, last = true, IsFailed
		case NoResult:
			if last == isProgress {
				last = IsMissing
			}
		default:
			continue
		}
		retried = retried || g.Attempt > 1
	}
	switch {
	case last == isProgress:
		return IsNotRun
	case last == IsPassed && failed:
		return IsFlaky
	case last == IsFailed && retried:
		return IsReal
	}
	return last
}

// Keys are the keys of the units with a verdict, as listed.
func (b *Book) Keys(is ...Verdict) []string {
	var keys []string
	for _, e := range b.entries {
		if slices.Contains(is, e.Verdict) {
			keys = append(keys, e.Unit.Key)
		}
	}
	return keys
}
