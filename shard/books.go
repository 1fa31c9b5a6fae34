package shard

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/shard/ledger"
)

const (
	ledgerFile = "ledger.json"
	flakyFile  = "flaky.json"
)

// balanceUnits replaces the ledger of the reports alone by that of boxer's own books: what was dealt is known here.
func (r *run) balanceUnits(ctx context.Context, res *Result, rep report.Result, shards [][]*attempt) {
	b := r.deal.book
	b.Close()
	stopped := ctx.Err() != nil || slices.ContainsFunc(res.Shards, func(s Shard) bool {
		return s.State == Cancelled || s.State == TimedOut || s.State == Lost
	})
	sum := b.Balance(stopped)
	unread := r.unreadBatches(shards)
	l := Ledger{Closed: sum.Closed && len(unread) == 0, Notes: sum.Notes, Units: r.countUnits()}
	parts := slices.Concat(notEnded(res.Shards), unread, sum.Parts)
	if l.Units.Flaky > 0 {
		l.Notes = append(l.Notes, text.Plural(l.Units.Flaky, "unit")+" passed only when run again")
	}
	if len(parts) == 0 {
		parts = append(parts, r.once(l))
	}
	if idle := r.options.Count - len(res.Shards); idle > 0 && len(r.deal.mine) < r.options.Count {
		l.Notes = append(l.Notes, text.PluralAs(idle, "child", "children")+" had nothing to do and did not start")
	}
	if b.ByCommand() {
		parts = append(parts, "by command")
	}
	head := []string{text.Plural(len(res.Shards), "shard"), text.Plural(l.Units.Listed, "unit")}
	if tests := rep.Tests - len(rep.ErrorCases); !b.ByCommand() || tests > 0 && slices.ContainsFunc(res.Shards, func(s Shard) bool { return s.Checked }) {
		head = append(head, text.Plural(tests, "test"))
	}
	l.Line = strings.Join(append(head, parts...), " · ")
	res.Ledger = l
}

// unreadBatches are the shards in which a command that came to its own end left no whole report where one was asked
// for. Of a unit that crashed its command none is expected: it has failed.
func (r *run) unreadBatches(shards [][]*attempt) []string {
	if len(r.options.JUnit) == 0 {
		return nil
	}
	var gone, broken []int
	for _, attempts := range shards {
		for _, a := range lastGoes(attempts) {
			switch {
			case a.state != Passed && a.state != Failed || a.lost || a.exit.Signal != 0:
			case len(a.collected.missing) > 0:
				gone = append(gone, a.number)
			case !a.reading.whole:
				broken = append(broken, a.number)
			}
		}
	}
	return unreadParts(slices.Compact(gone), slices.Compact(broken))
}

// once is how the line ends where nothing is wrong.
func (r *run) once(l Ledger) string {
	switch {
	case l.Units.Listed == 0 && r.options.Tests.Again != nil:
		return "nothing to run again"
	case l.Units.Listed == 0:
		return "none for this node"
	}
	return "each ran once"
}

func (r *run) countUnits() Units {
	b := r.deal.book
	count := func(v ...ledger.Verdict) int { return len(b.Keys(v...)) }
	return Units{
		Listed: len(b.Entries()), Passed: count(ledger.IsPassed), Failed: count(ledger.IsFailed), Flaky: count(ledger.IsFlaky),
		Real: count(ledger.IsReal), NoResult: count(ledger.IsMissing), NotRun: count(ledger.IsNotRun),
	}
}

func (u *Units) add(v Units) {
	u.Listed, u.Passed, u.Failed, u.Flaky = u.Listed+v.Listed, u.Passed+v.Passed, u.Failed+v.Failed, u.Flaky+v.Flaky
	u.Real, u.NoResult, u.NotRun = u.Real+v.Real, u.NoResult+v.NoResult, u.NotRun+v.NotRun
}

// complete says whether every unit of the list came to an end: then the timings of the run are whole.
func (u Units) complete() bool { return u.Listed > 0 && u.NoResult == 0 && u.NotRun == 0 }

// flaky counts tests that passed only when they ran again; units where no report tells of their tests.
func (r Result) flaky() int { return max(r.Report.Flaky, r.Ledger.Units.Flaky) }

// flakyJSON is flaky.json: what failed and was run again. Keys are interface, as those of result.json.
type flakyJSON struct {
	Schema int         `json:"schema"` // 1
	Units  []flakyUnit `json:"units"`  // of a list
	Tests  []flakyTest `json:"tests"`  // the first 1000 of each verdict
}

type flakyUnit struct {
	Unit    string         `json:"unit"`
	Verdict ledger.Verdict `json:"verdict"` // flaky, or real
	Runs    int            `json:"runs"`
}

type flakyTest struct {
	caseJSON
	Verdict string `json:"verdict"` // flaky, or real
	Earlier int    `json:"failed_before"`
}

// writeBooks writes the ledger, and what was retried.
func (r *run) writeBooks(res Result) error {
	doc := ledger.Document{
		Schema: ledger.Schema, Closed: res.Ledger.Closed, Line: res.Ledger.Line, Notes: some(res.Ledger.Notes), Units: []ledger.Line{},
	}
	again := flakyJSON{Schema: 1, Units: []flakyUnit{}, Tests: []flakyTest{}}
	if r.deal != nil {
		doc.Listed, doc.Units = true, r.deal.book.Lines()
	}
	for _, u := range doc.Units {
		if u.Verdict == ledger.IsFlaky || u.Verdict == ledger.IsReal {
			again.Units = append(again.Units, flakyUnit{u.Unit, u.Verdict, len(u.Goes)})
		}
	}
	for _, list := range []struct {
		cases   []report.Case
		verdict string
	}{{res.Report.FlakyCases, "flaky"}, {res.Report.Failed, "real"}} {
		for i, c := range casesOf(list.cases) {
			if earlier := list.cases[i].Earlier; list.verdict == "flaky" || earlier > 0 {
				again.Tests = append(again.Tests, flakyTest{c, list.verdict, earlier})
			}
		}
	}
	err := r.writeJSON(ledgerFile, doc)
	if r.options.Retries > 0 || len(again.Tests) > 0 {
		err = errors.Join(err, r.writeJSON(flakyFile, again))
	}
	return err
}

func (r *run) writeJSON(name string, doc any) error {
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	if mask := r.options.masker(); mask != nil {
		b = []byte(mask(string(b)))
	}
	return r.dir.write(name, append(b, '\n'))
}
