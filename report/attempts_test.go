package report

import (
	"fmt"
	"strings"
	"testing"
)

// suiteOf writes a report from words like "a:passed b:failed".
func suiteOf(words string) string {
	var b strings.Builder
	b.WriteString(`<testsuite name="s">`)
	for _, word := range strings.Fields(words) {
		name, status, _ := strings.Cut(word, ":")
		inner := map[string]string{
			"passed": "", "failed": `<failure message="f"/>`, "error": `<error message="e"/>`, "skipped": `<skipped message="s"/>`,
			"flaky": `<flakyFailure message="was"/>`,
		}[status]
		fmt.Fprintf(&b, `<testcase name="%s" time="1">%s</testcase>`, name, inner)
	}
	b.WriteString(`</testsuite>`)
	return b.String()
}

// runsOf is a merged report in words, with the earlier runs: "a:flaky+FE b:failed+f" (flakyFailure, flakyError, rerunFailure).
func runsOf(m merged) string {
	var words []string
	cases, _ := m.cases()
	for _, c := range cases {
		word := strings.ReplaceAll(*c.Name, " ", "") + ":" + string(c.status())
		for _, runs := range []struct {
			mark string
			n    int
		}{{"F", len(c.FlakyF)}, {"E", len(c.FlakyE)}, {"f", len(c.RerunF)}, {"e", len(c.RerunE)}} {
			word += strings.Repeat("+"+runs.mark, runs.n)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestAttempts(t *testing.T) {
	type goes []string // one report for each go; the exit code is 1, or 0 if it starts with "ok "
	for _, row := range []struct {
		name string
		goes goes
		want string
	}{
		{"passed after bad is flaky", goes{"a:failed b:error", "a:passed b:passed"}, "a:flaky+F b:flaky+E"},
		{"bad after bad keeps both", goes{"a:failed", "a:error"}, "a:error+f"},
		{"skipped after bad stays bad", goes{"a:failed", "ok a:skipped"}, "a:failed"},
		{"not run again keeps its result", goes{"a:failed b:failed", "b:passed"}, "a:failed b:flaky+F"},
		{"new tests are added", goes{"b:failed", "ok a:passed b:passed"}, "b:flaky+F a:passed"},
		{"bad after passed is not hidden", goes{"a:passed b:failed", "a:failed b:passed"}, "a:failed b:flaky+F"},
		{"passed after skipped ran", goes{"a:skipped b:failed", "ok a:passed b:passed"}, "a:passed b:flaky+F"},
		{"skipped after passed tells nothing", goes{"a:passed b:failed", "a:skipped"}, "a:passed b:failed"},
		{"flaky in a later go", goes{"a:passed b:failed", "a:flaky"}, "a:flaky+F b:failed"},
		{"flaky after bad keeps all runs", goes{"a:error", "ok a:flaky"}, "a:flaky+F+E"},
		{"three goes", goes{"a:failed", "a:error", "ok a:passed"}, "a:flaky+F+E"},
		{"bad after flaky is bad", goes{"a:failed", "a:passed", "a:failed"}, "a:failed+f"},
		{"a new test runs again", goes{"b:failed", "a:failed", "a:passed b:passed"}, "b:flaky+F a:flaky+F"},
		{"one name twice: each by its place", goes{"a:failed a:passed", "a:passed a:passed"}, "a:flaky+F a[2]:passed"},
		{"one name twice: the second stays bad", goes{"a:passed a:failed", "ok a:passed"}, "a:passed a[2]:failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var attempts []Attempt
			for i, words := range row.goes {
				rest, ok := strings.CutPrefix(words, "ok ")
				a := attemptOf(t, 1, suiteOf(rest))
				if a.Attempt = i + 1; ok {
					a.Exit = 0
				}
				attempts = append([]Attempt{a}, attempts...) // in no good order
			}
			m, _ := mergeFor(t, Options{}, attempts...)
			if got, _, _ := strings.Cut(runsOf(m), " shard1/1"); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestLaterMessageWins(t *testing.T) {
	two := attemptOf(t, 1, strings.ReplaceAll(suiteOf("a:failed"), `"f"`, `"again"`))
	two.Attempt = 2
	m, _ := mergeFor(t, Options{}, attemptOf(t, 1, suiteOf("a:failed")), two)
	if c := m.Suites[0].Cases[0]; c.result().Message != "again" || c.RerunF[0].Message != "f" {
		t.Errorf("%+v", c)
	}
}

// Only what is the same test can be a retry of it.
func TestIdentity(t *testing.T) {
	whole := `<testsuite name="s" hostname="h"><testcase name="n" classname="c" file="f" line="1">%s</testcase></testsuite>`
	for _, row := range []struct {
		from, to string
		same     bool
	}{
		{`name="s"`, `name="other"`, false}, {`hostname="h"`, `hostname="other"`, false}, {`name="n"`, `name="other"`, false},
		{`classname="c"`, `classname="other"`, false}, {`file="f"`, `file="other"`, false}, {`line="1"`, `line="2"`, true},
	} {
		two := attemptOf(t, 1, fmt.Sprintf(strings.Replace(whole, row.from, row.to, 1), ""))
		two.Attempt = 2
		_, r := mergeFor(t, Options{}, attemptOf(t, 1, fmt.Sprintf(whole, "<failure/>")), two)
		if same := r.Flaky == 1 && r.Failures == 0; same != row.same {
			t.Errorf("with %s the same test: %v, want %v", row.to, same, row.same)
		}
	}
}

// A number goes behind a name only where a consumer would show one case of two.
func TestNumbers(t *testing.T) {
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite name="s"><testcase name="a"/><testcase name="a [2]"/><testcase name="a"/><testcase name="a"/>`+
		`<testcase name="a" classname="c"/></testsuite><testsuite name="t"><testcase name="a"/><testcase name="a"/></testsuite>`))
	checkShown(t, m, "s/a passed", "s/a [2] passed", "s/a [3] passed", "s/a [4] passed", "s/a passed", "t/a passed", "t/a [2] passed")
}

// What a later go adds or leaves as it was must not bring its times along.
func TestTimesOfAttempts(t *testing.T) {
	two := attemptOf(t, 0, `<testsuite name="s" time="50"><testcase name="a" time="20"/><testcase name="new" time="30"/></testsuite>`)
	two.Attempt = 2
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite name="s"><testcase name="a" time="1"/></testsuite>`), two)
	if len(m.Suites) != 2 || m.Suites[0].Time != 1 || m.Suites[1].Time != 30 || propsOf(m.Suites[1].Props)["boxer.attempt"] != "2" {
		t.Errorf("suites %+v", m.Suites)
	}
}

// A pass vouches for nothing if the command was stopped.
func TestStoppedCommandVouchesForNothing(t *testing.T) {
	for _, stop := range []func(*Attempt){func(a *Attempt) { a.Signal = "SIGTERM" }, func(a *Attempt) { a.Killed = "cancelled" }} {
		a := attemptOf(t, 0, suiteOf("a:failed a:passed"), `<testsuite><testcase name="t"><skipped/><failure/></testcase></testsuite>`)
		stop(&a)
		m, _ := mergeFor(t, Options{}, a)
		if got := runsOf(m); got != "a:failed a[2]:passed t:failed shard1/1:error" {
			t.Errorf("got %q", got)
		}
	}
}

// An error case of boxer goes only for a later go of the same command that ended well.
func TestMadeUp(t *testing.T) {
	lost := Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: 137, Signal: "SIGKILL", Configured: true}
	for _, row := range []struct {
		name  string
		later func(*Attempt)
		want  int
	}{
		{"ended well", func(*Attempt) {}, 0},
		{"exit code 1 with a failure", func(a *Attempt) { a.Exit, a.Reports = 1, []File{file(t, failing)} }, 1},
		{"exit code 0 without a report", func(a *Attempt) { a.Reports = nil }, 2},
		{"another batch", func(a *Attempt) { a.Batch = 2 }, 1},
		{"ended by boxer", func(a *Attempt) { a.Killed = "time limit" }, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			later := attemptOf(t, 0, passing)
			later.Attempt = 2
			row.later(&later)
			_, r := mergeFor(t, Options{}, later, lost)
			if len(r.ErrorCases) != row.want || r.Incomplete != (row.want > 0) {
				t.Errorf("%d error cases, incomplete %v, want %d", len(r.ErrorCases), r.Incomplete, row.want)
			}
		})
	}
}

// Batches of one go are no retries of each other.
func TestBatches(t *testing.T) {
	one, two := attemptOf(t, 1, suiteOf("a:failed")), attemptOf(t, 0, suiteOf("a:passed b:passed"))
	one.Batch, two.Batch = 1, 2
	m, r := mergeFor(t, Options{}, two, one)
	if got := runsOf(m); got != "a:failed a[2]:passed b:passed" || r.Shards[0].Exit != 1 {
		t.Errorf("got %q, exit code %d", got, r.Shards[0].Exit)
	}
	again := attemptOf(t, 0, suiteOf("a:passed"))
	again.Attempt, again.Batch = 2, 1
	m, _ = mergeFor(t, Options{}, two, one, again)
	if got := runsOf(m); got != "a:flaky+F a[2]:passed b:passed" {
		t.Errorf("after a retry %q", got)
	}
}

func TestExitCodeCaseIsRetriedToo(t *testing.T) {
	m, _ := mergeFor(t, Options{}, Attempt{Shard: 1, Of: 1, Attempt: 2}, Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: 2})
	if got := runsOf(m); got != "shard1/1:flaky+F" {
		t.Errorf("got %q", got)
	}
}

func TestRerunsInOneReport(t *testing.T) {
	for _, row := range []struct{ name, words, reruns, want string }{
		{"bad then passed", "a:failed b:passed a:error a:passed", "", "a:flaky+F+E b:passed"},
		{"turned off", "a:failed a:passed", "never", "a:failed a[2]:passed"},
		{"passed then failed", "a:passed a:failed", "", "a:passed a[2]:failed"},
		{"bad then skipped then passed", "a:failed a:skipped a:passed", "", "a:failed a[2]:skipped a[3]:passed"},
		{"and once more", "a:failed a:passed a:failed a:passed", "", "a:flaky+F a[2]:flaky+F"},
		{"flaky at the end", "a:failed a:flaky", "", "a:flaky+F+F"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, _ := mergeFor(t, Options{Reruns: row.reruns}, attemptOf(t, 0, suiteOf(row.words)))
			if got := runsOf(m); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, suiteOf("a:failed")+suiteOf("a:passed")))
	if got := runsOf(m); got != "a:failed a[2]:passed" {
		t.Errorf("cases of two suite elements were joined: %q", got)
	}
}

// The name of the child that an attempt ran in tells its children apart, not its tests.
func TestIdentityInAnotherChild(t *testing.T) {
	t.Parallel()
	whole := `<testsuite name="s" hostname="%s"><testcase name="n">%s</testcase></testsuite>`
	one := attemptOf(t, 1, fmt.Sprintf(whole, "calm-crab-f1", "<failure/>")+fmt.Sprintf(whole, "firefox", ""))
	two := attemptOf(t, 0, fmt.Sprintf(whole, "calm-crab-f2", "")+fmt.Sprintf(whole, "firefox", ""))
	one.Hostname, two.Hostname, two.Attempt = "calm-crab-f1", "calm-crab-f2", 2
	if m, r := mergeFor(t, Options{}, one, two); r.Flaky != 1 || r.Failures != 0 || r.Tests != 2 || m.Suites[1].Hostname != "firefox" {
		t.Errorf("%+v %+v", r.Totals, m)
	}
}

// Names are told apart wherever two suites come to have one name, and as soon as one is written the names in a suite that
// stands alone may be forgotten.
func TestNamesInSuitesOfOneName(t *testing.T) {
	twice := func(suite string) string {
		return `<testsuite name="` + suite + `"><testcase classname="k" name="c"/><testcase classname="k" name="c"/></testsuite>`
	}
	other := twice("before") + twice("after")
	for name, reports := range map[string][]string{
		"one file":            {`<testsuites>` + twice("a") + other + twice("a") + `</testsuites>`},
		"two files":           {`<testsuites>` + twice("a") + other + `</testsuites>`, `<testsuites>` + twice("x") + twice("a") + `</testsuites>`},
		"a suite inside":      {`<testsuites>` + twice("a &gt; b") + other + `<testsuite name="a">` + twice("b") + `</testsuite></testsuites>`},
		"an own root":         {`<testsuites>` + twice("a") + other + `</testsuites>` + twice("a")},
		"the root within":     {`<testsuites name="r"><testsuites name="a">` + twice("b") + `</testsuites>` + other + twice("a &gt; b") + `</testsuites>`},
		"in a case":           {`<testsuites>` + twice("a &gt; b") + other + `<testsuite name="a"><testcase name="c">` + twice("b") + `</testcase></testsuite></testsuites>`},
		"in an unknown":       {`<testsuites>` + twice("a &gt; b") + other + `<testsuite name="a"><group>` + twice("b") + `</group></testsuite></testsuites>`},
		"outside of suites":   {`<testsuites name="r"><testcase name="c"/>` + other + `<testcase name="c"/></testsuites>`},
		"outside of the name": {`<testsuites name="a"><testcase classname="k" name="c"/>` + other + twice("a") + `</testsuites>`},
		"failures of suites":  {`<testsuites name="r"><failure/>` + twice("a") + `<failure/><testsuite name="a"><error/></testsuite></testsuites>`},
		"a case alone":        {`<testcase name="c"/>`, `<testcase name="c"/>`},
		"a secret":            {`<testsuites>` + twice("secret") + other + twice("***") + `</testsuites>`},
		"a name of boxer's":   {`<testsuites><testsuite name="boxer"><testcase classname="boxer" name="t"/></testsuite>` + other + `</testsuites>`, `<testsuite name="b`},
		"cleaned to the same": {`<testsuites>` + twice("a\x01") + other + twice(`a\x01`) + `</testsuites>`},
		"cut off":             {`<testsuites>` + twice("a") + other + twice("a") + `<testsuite name="a`},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{given: 1, Mask: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }}
			first, again := attemptOf(t, 1, reports...), attemptOf(t, 1, reports...)
			first.Title, again.Title = "t", "t"
			again.Attempt, again.Reports = 2, append(again.Reports, file(t, twice("later")+twice("a")))
			for _, part := range []int{0, 1} {
				o.part = part
				mergeFor(t, o, first)
				mergeFor(t, o, first, again)
				second := again
				second.Shard, second.Attempt, first.Of, second.Of = 2, 1, 2, 2
				mergeFor(t, o, first, second)
			}
		})
	}
}
