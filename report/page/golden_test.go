package page

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// sample is a run that has a bit of everything.
func sample() Page {
	child := func(n int, state State, fork, begin, end int) Child {
		return Child{
			Number: n, Of: 6, Name: "swift-crab-f" + string(rune('0'+n)), State: state, Exit: "0", Checked: true,
			Totals: Totals{Tests: 321, Passed: 321}, Log: "shard-" + string(rune('0'+n)) + ".log",
			Spans: []Span{{Kind: Fork, Start: ms(3200), End: ms(fork)}, {Kind: Command, Start: ms(begin), End: ms(end), State: state}},
		}
	}
	late := child(2, "timed out", 4000, 4010, 17800)
	late.Exit, late.Reason, late.Totals = "143 (SIGTERM)", "time limit 14s", Totals{Tests: 40, Passed: 39, Errors: 1}
	crashed := child(3, "failed", 4400, 4410, 6100)
	crashed.Exit, crashed.Reason, crashed.Checked = "137 (SIGKILL)", "killed by SIGKILL, exit code 137", false
	again := child(4, "failed", 4800, 4810, 9000)
	again.Exit, again.Totals = "1", Totals{Tests: 322, Passed: 319, Failures: 1, Skipped: 2, Flaky: 1}
	again.Spans = append(again.Spans, Span{Kind: Fork, Start: ms(9000), End: ms(9500), Attempt: 2},
		Span{Kind: Command, Start: ms(9510), End: ms(12000), Attempt: 2, State: "failed"})
	again.Files = []string{"shard-4/out/cart.png", "shard-4/coverage/index.html", "shard-4/out/unmentioned.svg"}
	dealt := child(5, "passed", 5200, 5210, 14000)
	for i, name := range []string{"test/a.test.js", "test/b.test.js", "test/c.test.js"} {
		dealt.Spans = append(dealt.Spans, Span{Kind: Unit, Label: name, Start: ms(5210 + i*2930), End: ms(5210 + (i+1)*2930), State: Passed})
	}
	dealt.Spans[3].State = "failed"
	never := Child{Number: 6, Of: 6, State: "lost", Reason: "could not be forked: no memory for one more", Node: ""}
	return Page{
		Project: "shop", Command: "npm test -- --shard=<i>/<n>", Started: time.Date(2026, 3, 4, 9, 10, 11, 0, time.UTC), ExitCode: 125,
		Meaning: "boxer or the backend failed", Totals: Totals{Tests: 1005, Passed: 999, Failures: 1, Errors: 3, Skipped: 2, Flaky: 1},
		Ledger: Ledger{false, "6 shards · 1,005 tests · shard 6 lost · shard 2 at the time limit", []string{"2 tests ran in every shard"}},
		Setup:  ms(3200), Fork: ms(2000), Wall: ms(15100), Bound: "shard 2 took 13.8 s, the mean is 8.1 s: a more even split would help, more children will not",
		Children: []Child{child(1, Passed, 3600, 3610, 12500), late, crashed, again, dealt, never},
		Failures: []Case{
			{Shard: 3, Name: "shard 3/6", Class: "boxer", Suite: "boxer", State: "error", Own: true, Message: "killed by SIGKILL, exit code 137", Body: "last words\n", Log: "shard-3.log"},
			{
				Shard: 4, Attempt: 2, Suite: "cart", Class: "cart.Cart", Name: "adds two of a kind", File: "test/cart.test.js", Line: 12, State: "failed",
				Seconds: 0.31, Message: "expected 3 to be 2", Body: "AssertionError: expected 3 to be 2\n\tat Cart.add (src/cart.js:41:7)\n", Out: "opening the shop\n",
				Err: "warning: slow\n", Attachments: []string{"shard-4/out/cart.png", "shard-4/out/trace.zip"}, Earlier: 1, Log: "shard-4.log",
			},
		},
		Unlisted: 2,
		Flaky:    []Case{{Shard: 4, Attempt: 2, Suite: "stock", Class: "stock", Name: "counts", State: Flaky, Seconds: 1.2, Message: "timeout", Earlier: 1}},
		Slowest:  []Case{{Shard: 2, Class: "stock", Name: "ships", File: "test/stock.test.js", State: Passed, Seconds: 7.5}, {Shard: 4, Class: "stock", Name: "counts", State: Flaky, Seconds: 1.2}},
		Files:    []FileTime{{"test/stock.test.js", 1234, 71}, {"test/cart.test.js", 4, 0.5}},
		Tests: []Case{
			{Shard: 1, Suite: "cart", Class: "cart", Name: "is empty", State: Passed, Seconds: 0.004},
			{Shard: 1, Suite: "cart", Class: "cart", Name: "ships abroad", State: Skipped},
			{Shard: 4, Suite: "cart", Class: "cart.Cart", Name: "adds two of a kind", State: "failed", Seconds: 0.31},
			{Shard: 4, Suite: "stock", Class: "stock", Name: "counts", State: Flaky, Seconds: 1.2},
		},
		Warnings: []string{"shard 4/6: not collected: out/link (symlink)"},
		Withheld: []string{"AWS_PROFILE", "GITHUB_TOKEN"},
		Merged:   "junit.xml", Data: "result.json",
	}
}

func render(t testing.TB, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := Render(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The style and the script are files of their own; the golden file holds all that is made.
func TestSmallPage(t *testing.T) {
	t.Parallel()
	got := render(t, sample())
	got = strings.Replace(strings.Replace(got, style, "STYLE", 1), script, "SCRIPT", 1)
	for _, text := range []string{style, script} {
		got = strings.Replace(got, escaped(hashOf(text)), "HASH", 1)
	}
	const path = "testdata/small.html"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (rewrite it with -update)\ngot:\n%s", path, got)
	}
	if !strings.Contains(got, "<style>STYLE</style>") || !strings.Contains(got, "<script>SCRIPT</script>") || strings.Count(got, "HASH") != 2 {
		t.Error("style, script and their hashes are not as they should be")
	}
}

// escaped is a text as it stands in an attribute.
func escaped(s string) string {
	return strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(s)
}

// An empty run must not divide by anything.
func TestEmptyPage(t *testing.T) {
	t.Parallel()
	got := render(t, Page{ExitCode: 4, Meaning: "no test ran"})
	if !strings.Contains(got, "no test ran</h1>") || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
}
