package ci

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (rewrite it with -update)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// hostile is text as a test can write it that means harm to a log, to Markdown and to HTML.
const hostile = "a|b\n::error::x\n##[error]y </pre></details><script>alert(1)</script> [l](http://e) `c` @team #1 \x1b[31mred\u202e %0A"

func failing() Run {
	return Run{
		ExitCode: 1, Totals: Totals{Tests: 1284, Failures: 14, Skipped: 3, Flaky: 1},
		Ledger: "4 shards · 1,284 tests · each ran once", Bound: "4 children on 2 cores: more cores would help, more children will not",
		Efficiency: 0.87, Setup: 3200 * time.Millisecond, Fork: 400 * time.Millisecond, Wall: 15 * time.Second,
		Report: "boxer-report", HTML: "boxer-report/index.html", JSON: "boxer-report/result.json",
		Shards: []Shard{
			{Number: 1, Of: 4, State: "passed", Passed: true, Checked: true, Totals: Totals{Tests: 642, Flaky: 1}, Wall: 12 * time.Second, Log: "shard-1.log"},
			{Number: 2, Of: 4, State: "failed", Checked: true, Totals: Totals{Tests: 642, Failures: 13, Skipped: 3}, Exit: 1, Wall: 14 * time.Second, Log: "shard-2.log"},
			{Number: 3, Of: 4, State: "failed", Exit: 139, Reason: "killed by SIGSEGV | " + hostile, Wall: time.Second, Log: "shard-3.log"},
			{Number: 4, Of: 4, State: "lost", Reason: "could not be forked: no memory"},
		},
		Troubles: []Case{{Shard: 3, Name: "shard 3/4", Message: "killed by SIGSEGV, exit code 139", Body: "Segmentation fault\n"}},
		Failed: []Case{
			{Shard: 2, Name: "cart > adds two", Message: "expected 3 to be 2", Body: "Error: expected 3 to be 2\n    at test/cart.test.js:12:5\n", File: "test/cart.test.js", Line: 12},
			{Shard: 2, Name: "cart > adds three", Message: "expected 4 to be 3", File: "test/cart.test.js", Line: 20},
			{Shard: 2, Name: hostile, Message: hostile, Body: hostile, File: "a,b:c%.js", Line: 3},
			{Shard: 2, Name: "no message"},
		},
		Flaky:    []Case{{Shard: 1, Name: "net > connects " + hostile, Message: "refused", File: "test/net.test.js", Line: 4}},
		Warnings: []string{"shard 3/4: not collected: out/link (symlink)", hostile},
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	golden(t, "summary-failed.md", Summary(failing(), MaxSummary))
	golden(t, "annotations-failed.txt", Annotations(failing()))
	passed := Run{Totals: Totals{Tests: 3}, Ledger: "2 shards · 3 tests · each ran once", Wall: 2 * time.Second, Report: "boxer-report", Shards: []Shard{
		{Number: 1, Of: 2, State: "passed", Passed: true, Checked: true, Totals: Totals{Tests: 3}, Wall: time.Second},
		{Number: 2, Of: 2, State: "passed", Passed: true, Wall: time.Second},
	}}
	golden(t, "summary-passed.md", Summary(passed, MaxSummary))
	if got := Annotations(passed); got != "" {
		t.Errorf("annotations of a run that passed: %q", got)
	}
}
