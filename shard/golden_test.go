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
	"unicode"

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
			{Shard: 2, Status: report.Failed, Classname: "cart", Name: "adds two", File: "test/cart.test.js", Line: 12, Message: "expected\t3 to be 2\nat cart.js"},
			{Shard: 2, Status: report.Failed, Classname: "<b>x", Name: "##[error]\x1b[2J\nname ::error::", File: "a\u202e.js", Body: "\n  first line\nsecond"},
			{Shard: 2, Classname: "a class with a long name, as they are in Java", Name: "keeps the end of a name, where tests differ",
				Status: report.Errored, File: "packages/some/where/deep/in/the/repository/test/cart.test.js", Line: 1284,
				Message: "a message of many words, so many that no narrow terminal has room for them in one line"},
			{Shard: 2, Status: report.Errored, Classname: "stock", Name: "TestShip", Message: "Failed", Body: "=== RUN   TestShip\n    ship_test.go:12: 3 items, want 2\n--- FAIL: TestShip (0.00s)\n"},
		}, FlakyCases: []report.Case{
			{Shard: 1, Status: report.Flaky, Classname: "net", Name: "connects\x1b[31m", Message: "refused ##[error]", File: "test/net.test.js"},
		}},
		Ledger: Ledger{Closed: true, Line: "2 shards · 5 tests · each ran once"},
		Wall:   time.Second,
		files:  []string{"junit.xml", "result.json"},
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
		o.Width = 40
		golden(t, "summary-"+name+"-40.txt", summary(res, o))
		o.Width, o.Colour = 80, true
		golden(t, "summary-"+name+"-colour.txt", summary(res, o))
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

// A line that is too long is wrapped by the terminal, and then nothing stands where it should.
func TestSummaryFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for name, res := range results {
		res.ReportDir = "/w/app/packages/some/where/deep/in/the/repository/boxer-report"
		res.Warnings = append(res.Warnings, "日本語の長いテスト名は端末の幅に収まらない "+strings.Repeat("x", 200))
		for width := 40; width < 200; width++ {
			for _, mode := range []Mode{Lines, Live} {
				text := summary(res, Options{Base: "/w/app", Width: width, Colour: true, Mode: mode})
				for line := range strings.Lines(colours.ReplaceAllString(text, "")) {
					if n := columns(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%s at %d columns: %d in %q", name, width, n, line)
					}
				}
				if bars := strings.Contains(text, "█"); bars && width < minBarLine {
					t.Errorf("%s at %d columns: bars", name, width)
				}
			}
		}
	}
}

// columns counts as a terminal does that shows the scripts of East Asia wide.
func columns(line string) int {
	n := 0
	for _, r := range line {
		n++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			n++
		}
	}
	return n
}

func TestSummarySaysAllWithoutColour(t *testing.T) {
	t.Parallel()
	for name, res := range results {
		plain, coloured := summary(res, Options{Width: 80}), summary(res, Options{Width: 80, Colour: true})
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%s: a colour nobody asked for", name)
		}
		if colours.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%s: with colours another text:\n%s\nwithout:\n%s", name, coloured, plain)
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
