package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

// Schema is the version of ledger.json.
const Schema = 1

// maxFile is how many bytes of a ledger are read.
const maxFile = 256 << 20

// Document is ledger.json. Keys are interface: they are never renamed, new ones may come. Times are seconds; arrays are
// never null.
type Document struct {
	Schema int      `json:"schema"`
	Closed bool     `json:"closed"`
	Line   string   `json:"line"` // the same in words
	Notes  []string `json:"notes"`
	Listed bool     `json:"listed"` // false: the command split the tests by itself, and there are no units
	Units  []Line   `json:"units"`  // as listed
}

// Line is a unit in ledger.json.
type Line struct {
	Unit    string    `json:"unit"` // its key: relative to the repository
	Name    string    `json:"name"` // as the command got it
	Verdict Verdict   `json:"verdict"`
	Expect  float64   `json:"expected_seconds"`
	Goes    []Entered `json:"runs"`
}

// Entered is one go of a unit in ledger.json.
type Entered struct {
	Shard   int     `json:"shard"`
	Batch   int     `json:"batch"`
	Attempt int     `json:"attempt"`
	Order   int     `json:"order"` // in its child, from 1
	Child   string  `json:"child"`
	Started string  `json:"started"` // RFC 3339, UTC
	Seconds float64 `json:"seconds"`
	Cases   int     `json:"cases"`
	Bad     int     `json:"failed"`
	Outcome Outcome `json:"outcome"`
	By      string  `json:"by"` // report, or command: its exit code is all that is known
}

// Lines are the units of the books for the document.
func (b *Book) Lines() []Line {
	lines := []Line{}
	for _, e := range b.entries {
		l := Line{Unit: e.Unit.Key, Name: e.Unit.Name, Verdict: e.Verdict, Expect: e.Expect.Seconds(), Goes: []Entered{}}
		for _, g := range e.Goes {
			in := Entered{
				Shard: g.Shard, Batch: g.Batch, Attempt: g.Attempt, Order: g.Order, Child: g.Child,
				Seconds: g.Took.Seconds(), Cases: g.Cases, Bad: g.Bad, Outcome: g.Outcome, By: "command",
			}
			if !g.Started.IsZero() {
				in.Started = g.Started.UTC().Format(time.RFC3339Nano)
			}
			if g.Report {
				in.By = "report"
			}
			l.Goes = append(l.Goes, in)
		}
		lines = append(lines, l)
	}
	return lines
}

// Load reads the ledger of an earlier run. An error says what is wrong with the file.
func Load(path string) (Document, error) {
	var d Document
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return d, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return d, fmt.Errorf("%s is no ledger of boxer", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return d, fmt.Errorf("%s cannot be read as a ledger: %w", path, err)
	}
	switch {
	case d.Schema != Schema:
		return d, fmt.Errorf("%s is no ledger that this boxer reads: its schema is %d, not %d", path, d.Schema, Schema)
	case !d.Listed:
		return d, fmt.Errorf("%s is of a run without a test list, so it does not know what to run again", path)
	}
	return d, nil
}

// Again are the units of the list that the ledger does not vouch for: those that did not pass, and those that it does
// not know. What has passed, flaky or not, is left out.
func (d Document) Again(list []units.Unit) []units.Unit {
	passed := map[string]bool{}
	for _, l := range d.Units {
		passed[l.Unit] = !l.Verdict.Bad()
	}
	var again []units.Unit
	for _, u := range list {
		if !passed[u.Key] {
			again = append(again, u)
		}
	}
	return again
}
