package shard

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		put(t, "testdata", name, got)
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (rewrite it with -update)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func ran(number int, state State, exit int, wall time.Duration, t report.Totals) Shard {
	return Shard{
		Number: number, Of: 4, State: state, Exit: exit, Wall: wall, Totals: t, Checked: t.Tests > 0,
		Started: time.Date(2026, 3, 4, 9, 10, 11, 0, time.UTC), Child: fmt.Sprintf("swift-crab-f%d", number),
		Log: logOf(number), Seed: seedOf(7, number), Fork: 400 * time.Millisecond,
	}
}

var results = map[string]Result{
	"passed": {
		Shards: []Shard{
			ran(1, Passed, 0, 12300*time.Millisecond, report.Totals{Tests: 321, Passed: 321}),
			ran(2, Passed, 0, 14*time.Second, report.Totals{Tests: 963, Passed: 960, Skipped: 3, Flaky: 1}),
		},
		Ledger: Ledger{Closed: true, Line: "2 shards · 1,284 tests · each ran once"},
		Setup:  3200 * time.Millisecond, Fork: 430 * time.Millisecond, Wall: 14800 * time.Millisecond,
		Bound: "2 children on 2 cores: more cores would help, more children will not",
	},
	"failed": {
		ExitCode: 1,
		Shards: []Shard{
			ran(1, Passed, 0, time.Second, report.Totals{Tests: 2, Passed: 2}),
			ran(2, Failed, 1, time.Second, report.Totals{Tests: 3, Passed: 1, Failures: 2}),
		},
		Report: report.Result{Totals: report.Totals{Tests: 5, Failures: 2}, Failed: []report.Case{
			{Shard: 2, Status: report.Failed, Classname: "cart", Name: "adds two", File: "test/cart.test.js", Line: 12, Message: "expected 3 to be 2\nat cart.js"},
			{Shard: 2, Status: report.Failed, Classname: "<b>x", Name: "##[error]\x1b[2J\nname ::error::", File: "a\u202e.js", Body: "\n  first line\nsecond"},
			{Shard: 2, Status: report.Errored, Classname: "stock", Name: "TestShip", Message: "Failed", Body: "=== RUN   TestShip\n    ship_test.go:12: 3 items, want 2\n--- FAIL: TestShip (0.00s)\n"},
		}},
		Ledger: Ledger{Closed: true, Line: "2 shards · 5 tests · each ran once"},
		Wall:   time.Second,
	},
	"troubled": {
		ExitCode: 125,
		Shards: func() []Shard {
			lost := Shard{Number: 1, Of: 4, State: Lost, Reason: "could not be forked: no memory"}
			late := ran(2, TimedOut, 143, time.Minute+3*time.Second, report.Totals{Tests: 2, Passed: 1, Errors: 1})
			late.Leftover, late.tail = true, []string{"last words\r", "\x1b[31mred"}
			crashed := ran(3, Failed, 139, time.Second, report.Totals{})
			crashed.Signal, crashed.Reason = syscall.SIGSEGV, "killed by SIGSEGV, exit code 139"
			crashed.NotCollected = []runner.Skipped{{Path: "out/link", Reason: "symlink"}}
			quiet := ran(4, Passed, 0, time.Second, report.Totals{})
			quiet.Hint = anyReporter
			quiet.Artifacts = []string{"shard-4/out/a.png"}
			return []Shard{lost, late, crashed, quiet}
		}(),
		Ledger:   Ledger{Line: "4 shards · 2 tests · shard 1 lost", Notes: []string{"2 tests ran in every shard"}},
		Warnings: []string{"shard 3/4: not collected: out/link (symlink)"},
		Kept:     []string{"swift-crab-f2", "swift-crab-f3"}, Wall: 2 * time.Minute,
	},
	"not-found": {
		ExitCode: 127,
		Shards: []Shard{
			{Number: 1, Of: 2, State: NotFound, Reason: "jest is not found in PATH"},
			{Number: 2, Of: 2, State: NotFound, Reason: "jest is not found in PATH"},
		},
		Ledger: Ledger{Line: "2 shards · 0 tests · shards 1 and 2 did not start"},
	},
}

func TestSummaryAndDocument(t *testing.T) {
	t.Parallel()
	for name, res := range results {
		res.ReportDir, res.Seed = "/w/app/boxer-report", 7
		o := Options{Base: "/w/app", Mode: Lines}
		if name == "troubled" {
			o.Mode = Quiet
		}
		text := summary(res, o)
		golden(t, "summary-"+name+".txt", text)
		if strings.ContainsAny(colours.ReplaceAllString(text, ""), "\x1b\r\u202e") || strings.Contains(text, "##[") {
			t.Errorf("%s: the summary does something to who reads it: %q", name, text)
		}
		doc, err := res.JSON()
		if err != nil {
			t.Error(err)
		}
		golden(t, "result-"+name+".json", string(doc))
		if strings.Contains(string(doc), "null") {
			t.Errorf("%s: a null in the document", name)
		}
	}
}

func TestSummaryShowsFiftyFailures(t *testing.T) {
	t.Parallel()
	var res Result
	for i := range 1000 {
		res.Report.Failed = append(res.Report.Failed, report.Case{Shard: 1, Name: fmt.Sprint("test ", i), Message: strings.Repeat("long ", 1000)})
	}
	res.Report.Failures, res.Report.Errors = 1500, 2
	res.Report.ErrorCases = make([]report.ErrorCase, 2)
	text := summary(res, Options{Base: "/w"})
	if n := strings.Count(text, "FAILED"); n != maxShownFailures {
		t.Errorf("%d failures", n)
	}
	if !strings.Contains(text, "... and 1,450 failures more, all in junit.xml\n") {
		t.Errorf("what is not shown is not told:\n%s", text[len(text)-300:])
	}
	if len(text) > 30_000 {
		t.Errorf("%d bytes", len(text))
	}
}
