package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// file writes a report for a test and gives it as an Attempt wants it.
func file(t testing.TB, text string) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.xml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return File{Path: path, Name: "out/r.xml"}
}

// attemptOf is attempt 1 of shard 1 of 1 with these reports.
func attemptOf(t testing.TB, exit int, reports ...string) Attempt {
	t.Helper()
	a := Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: exit, Configured: true}
	for _, text := range reports {
		a.Reports = append(a.Reports, file(t, text))
	}
	return a
}

// shown is a merged report in one line for each case: suite/name status message.
func shown(m merged) []string {
	var lines []string
	cases, suites := m.cases()
	for i, c := range cases {
		line := fmt.Sprintf("%s/%s %s %s", suites[i].Name, *c.Name, c.status(), c.result().Message)
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func checkShown(t *testing.T, m merged, want ...string) {
	t.Helper()
	if got := shown(m); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	passing = `<testsuite name="s"><testcase name="a"/></testsuite>`
	failing = `<testsuite name="s"><testcase name="a"><failure message="no"/></testcase></testsuite>`
	hollow  = `<testsuites><testsuite name="s"/></testsuites>`
	half    = `<testsuite name="s"><testcase name="a"/><testcase name="b">`
)

// The table of the rules: what boxer adds when the report and the end of the command disagree.
func TestErrorCases(t *testing.T) {
	rows := []struct {
		name    string
		attempt Attempt
		options Options
		report  string // "" for none
		want    Kind   // "" for no error case
		says    string
	}{
		{name: "missing, exit 0", want: Missing, says: "out/r.xml is missing), exit code 0"},
		{name: "missing, exit 1", attempt: Attempt{Exit: 1}, want: Missing, says: "exit code 1"},
		{name: "empty, exit 0", report: " \n", want: Empty, says: "out/r.xml:1: empty"},
		{name: "truncated, exit 0", report: half, want: Truncated, says: "out/r.xml:1: truncated"},
		{name: "refused, exit 1", attempt: Attempt{Exit: 1}, report: "<html/>", want: NotJUnit, says: "<html> is not JUnit"},
		{name: "signal, whole report with a failure", attempt: Attempt{Exit: 137, Signal: "SIGKILL"}, report: failing,
			want: Crashed, says: "killed by SIGKILL, exit code 137"},
		{name: "time limit, no report", attempt: Attempt{Exit: 124, Killed: "time limit 20m"}, want: Killed, says: "time limit 20m, exit code 124"},
		{name: "cancelled, whole report", attempt: Attempt{Exit: 143, Killed: "cancelled"}, report: passing, want: Killed, says: "cancelled"},
		{name: "never started", attempt: Attempt{NotRun: "could not be forked"}, want: NotRun, says: "never started: could not be forked"},
		{name: "no case, exit 0", report: hollow, want: NoTests, says: "exit code 0"},
		{name: "no case, exit 0, allowed", options: Options{AllowEmpty: "yes"}, report: hollow},
		{name: "no case, exit 5", attempt: Attempt{Exit: 5}, options: Options{AllowEmpty: "yes"}, report: hollow, want: NoTests, says: "exit code 5"},
		{name: "no case, exit 5, in empty_exit_codes", attempt: Attempt{Exit: 5}, options: Options{EmptyExitCodes: []int{4, 5}}, report: hollow},
		{name: "cases, none bad, exit 0", report: passing},
		{name: "cases, none bad, exit 1", attempt: Attempt{Exit: 1}, report: passing, want: CommandFailed, says: "exit code 1"},
		{name: "cases, none bad, exit 5 in empty_exit_codes", attempt: Attempt{Exit: 5}, options: Options{EmptyExitCodes: []int{5}},
			report: passing, want: CommandFailed},
		{name: "cases, one bad, exit 0", report: failing},
		{name: "cases, one bad, exit 1", attempt: Attempt{Exit: 1}, report: failing},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a := row.attempt
			a.Shard, a.Of, a.Attempt, a.Configured, a.OutputTail = 3, 8, 1, true, "the \x1b[31mlast\x1b[0m line"
			if a.Missing = []string{"out/r.xml"}; row.report != "" {
				a.Missing, a.Reports = nil, []File{file(t, row.report)}
			}
			m, r := mergeFor(t, row.options, a)
			if row.want == "" {
				if len(r.ErrorCases) > 0 {
					t.Errorf("error case %+v, want none", r.ErrorCases[0])
				}
				return
			}
			checkErrorCase(t, m, r, row.want, row.says)
		})
	}
}

func checkErrorCase(t *testing.T, m merged, r Result, kind Kind, says string) {
	t.Helper()
	if len(r.ErrorCases) != 1 {
		t.Fatalf("%d error cases, want 1 of kind %s", len(r.ErrorCases), kind)
	}
	e := r.ErrorCases[0]
	c := caseNamed(t, m, "shard 3/8")
	if e.Kind != kind || c.result().Type != "boxer."+string(kind) || c.status() != Errored || *c.Classname != "boxer" {
		t.Errorf("error case %+v, written %+v, want kind %s", e, c, kind)
	}
	if !strings.Contains(e.Message, says) || c.result().Message != e.Message {
		t.Errorf("message %q, written %q, want %q in both", e.Message, c.result().Message, says)
	}
	if !strings.HasSuffix(c.result().Body, "the last line") {
		t.Errorf("body %q does not end with the output", c.result().Body)
	}
	incomplete := slices.Contains([]Kind{Missing, Empty, Truncated, NotJUnit, NotRun}, kind) || len(r.Unread) > 0
	if r.Incomplete != incomplete {
		t.Errorf("incomplete %v, want %v", r.Incomplete, incomplete)
	}
	if r.Shards[0].State != "error" {
		t.Errorf("state %q, want error", r.Shards[0].State)
	}
}

// A configured report is an error when missing even if the caller names no path.
func TestConfiguredWithoutAnyReport(t *testing.T) {
	_, r := mergeFor(t, Options{}, Attempt{Shard: 1, Of: 1, Attempt: 1, Configured: true})
	if len(r.ErrorCases) != 1 || r.ErrorCases[0].Kind != Missing || !r.Incomplete {
		t.Errorf("error cases %+v, incomplete %v", r.ErrorCases, r.Incomplete)
	}
}

// One bad file spoils no other of the shard, but the shard is not whole.
func TestBadFileAmongGood(t *testing.T) {
	m, r := mergeFor(t, Options{}, attemptOf(t, 0, passing, "<broken>&</broken>", strings.ReplaceAll(passing, `"a"`, `"z"`)))
	checkShown(t, m, "s/a passed", "s/z passed", "boxer/shard 1/1 error "+r.ErrorCases[0].Message)
	if !r.Incomplete || r.ErrorCases[0].Kind != NotJUnit {
		t.Errorf("incomplete %v, %+v", r.Incomplete, r.ErrorCases)
	}
}

func TestEmptyShards(t *testing.T) {
	full, empty := attemptOf(t, 0, passing), attemptOf(t, 0, hollow)
	second := empty
	second.Attempt = 2
	empty.Shard, empty.Of, full.Of = 2, 2, 2
	for _, row := range []struct {
		name     string
		options  Options
		attempts []Attempt
		states   []string
		empty    bool
	}{
		{"another shard had cases", Options{}, []Attempt{full, empty}, []string{"passed", "empty"}, false},
		{"another shard had only a failed suite", Options{}, []Attempt{attemptOf(t, 1, `<testsuite><error/></testsuite>`), empty},
			[]string{"failed", "empty"}, false},
		{"not allowed", Options{AllowEmpty: "no"}, []Attempt{full, empty}, []string{"passed", "error"}, false},
		{"boxer dealt the tests", Options{Listed: true}, []Attempt{full, empty}, []string{"passed", "error"}, false},
		{"no shard had cases", Options{}, []Attempt{empty}, []string{"error"}, true},
		{"only another go of this shard had cases", Options{}, []Attempt{attemptOf(t, 1, failing), second}, []string{"error"}, false},
		{"allowed in all", Options{AllowEmpty: "yes"}, []Attempt{empty}, []string{"empty"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, r := mergeFor(t, row.options, row.attempts...)
			var states []string
			for _, s := range r.Shards {
				states = append(states, s.State)
			}
			if !slices.Equal(states, row.states) || r.Empty != row.empty || r.Incomplete {
				t.Errorf("states %q, empty %v, incomplete %v, want %q, %v, false", states, r.Empty, r.Incomplete, row.states, row.empty)
			}
		})
	}
}

// Without a configured report the exit code is the one case of a shard, and no error.
func TestNothingConfigured(t *testing.T) {
	good := Attempt{Shard: 1, Of: 3, Attempt: 1, Wall: 1500 * time.Millisecond}
	bad := Attempt{Shard: 2, Of: 3, Attempt: 1, Exit: 3, OutputTail: "panic: sunk"}
	guessed := attemptOf(t, 0, `<coverage/>`)
	guessed.Shard, guessed.Of, guessed.Configured = 3, 3, false
	m, r := mergeFor(t, Options{}, good, bad, guessed)
	checkShown(t, m, "boxer/shard 1/3 passed", "boxer/shard 2/3 failed exit code 3", "boxer/shard 3/3 passed")
	if c := caseNamed(t, m, "shard 2/3"); c.result().Body != "panic: sunk" {
		t.Errorf("body %q", c.result().Body)
	}
	if len(r.ErrorCases) > 0 || r.Incomplete || r.Empty || r.Shards[0].Checked || len(r.Shards[0].IDs) > 0 || m.Time != 1.5 {
		t.Errorf("result %+v", r)
	}
	if len(r.Failed) != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not read: out/r.xml:1: not-junit") {
		t.Errorf("failed %+v, warnings %q", r.Failed, r.Warnings)
	}
}

func TestKilledWithNothingConfigured(t *testing.T) {
	m, r := mergeFor(t, Options{}, Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: 137, Signal: "SIGKILL"})
	checkShown(t, m, "boxer/shard 1/1 error killed by SIGKILL, exit code 137")
	if len(r.ErrorCases) != 1 || len(r.Failed) > 0 || r.Incomplete || !r.Empty {
		t.Errorf("%+v", r)
	}
}

// A report that changes after it was looked through is no reason to lose anything silently.
func TestReportChangesWhileMerging(t *testing.T) {
	long := `<testsuite><testcase name="a"><system-out>` + strings.Repeat("more than is read ahead\n", 10_000) + `</system-out></testcase></testsuite>`
	first, second := attemptOf(t, 0, strings.Repeat(long, 20)), attemptOf(t, 0, passing)
	first.Of, second.Shard, second.Of = 2, 2, 2
	var once sync.Once
	change := func(Case) {
		once.Do(func() { os.WriteFile(second.Reports[0].Path, []byte("<testsuite>&"), 0o600) })
	}
	m, r := mergeFor(t, Options{Visit: change}, first, second)
	c := caseNamed(t, m, "shard 2/2")
	if got := c.result().Message; got != "out/r.xml:1: truncated: the file ends inside of <testsuite>, exit code 0" || r.Tests != 21 {
		t.Errorf("%d cases, error %q", r.Tests, got)
	}
	if !r.Incomplete || len(r.Unread) != 1 {
		t.Errorf("incomplete %v, errors %v", r.Incomplete, r.Unread)
	}
}

func TestFilesAreReadInTheOrderOfTheirNames(t *testing.T) {
	a := attemptOf(t, 0, suiteOf("a:passed"), suiteOf("b:passed"), suiteOf("c:passed"))
	a.Reports[0].Name, a.Reports[1].Name, a.Reports[2].Name = "é.xml", "z.xml", "Z.xml"
	m, _ := mergeFor(t, Options{}, a)
	if got := runsOf(m); got != "c:passed b:passed a:passed" {
		t.Errorf("got %q", got)
	}
}

// Only a report of boxer's own says itself which shard its suites come from.
func TestForgedProperties(t *testing.T) {
	report := `<testsuite name="s"><properties><property name="boxer.shard" value="9/9"/></properties><testcase name="a"/></testsuite>`
	for _, own := range []bool{false, true} {
		a := attemptOf(t, 0, report)
		a.Merged = own
		m, _ := mergeFor(t, Options{}, a)
		if got, want := m.Suites[0].Props[0].Value, map[bool]string{false: "1/1", true: "9/9"}[own]; got != want {
			t.Errorf("merged %v: shard %s, want %s", own, got, want)
		}
	}
}

func TestOrderAndProperties(t *testing.T) {
	start := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	text := `<testsuite name="s" timestamp="%s"><properties><property name="k">v</property><property name="k" value="w"/></properties>` +
		`<testcase name="%s"/></testsuite>`
	one := attemptOf(t, 0, fmt.Sprintf(text, "2026-03-04T10:30:00+01:00", "late"))
	two := attemptOf(t, 7, fmt.Sprintf(text, "1970-01-01T00:00:00", "early"))
	one.Shard, one.Of, two.Of, one.Started, two.Started = 2, 2, 2, start, start
	two.Wall = 90 * time.Second
	m, _ := mergeFor(t, Options{Name: "nightly"}, one, two)
	checkShown(t, m, "s/early passed", "boxer/shard 1/2 error "+m.Suites[1].Cases[0].result().Message, "s/late passed")
	want := []mergedProp{{"boxer.shard", "1/2"}, {"boxer.attempt", "1"}, {"boxer.exit_code", "7"}, {"boxer.wall_seconds", "90"}, {"k", "v"}, {"k", "w"}}
	if !slices.Equal(m.Suites[0].Props, want) || m.Name != "nightly" {
		t.Errorf("root %q, properties %v, want %v", m.Name, m.Suites[0].Props, want)
	}
	if m.Suites[0].Timestamp != "2026-03-04T09:00:00" || m.Suites[2].Timestamp != "2026-03-04T09:30:00" {
		t.Errorf("timestamps %q, %q", m.Suites[0].Timestamp, m.Suites[2].Timestamp)
	}
}

// What the caller checks the ledger with.
func TestLedger(t *testing.T) {
	report := `<testsuite name="s" file="suite_test.go"><testcase name="a" classname="c" file="x_test.go" line="7"/><testcase name="b"/></testsuite>`
	one, same, other := attemptOf(t, 0, report), attemptOf(t, 0, report), attemptOf(t, 0, passing)
	same.Shard, other.Shard = 2, 3
	var visited []string
	_, r := mergeFor(t, Options{Visit: func(c Case) { visited = append(visited, fmt.Sprint(c.Shard, c.Name, c.File, c.Line)) }}, one, same, other)
	a, b, c := r.Shards[0], r.Shards[1], r.Shards[2]
	if len(a.IDs) != 2 || !slices.Equal(a.IDs, b.IDs) || slices.Equal(a.IDs, c.IDs) || !slices.IsSorted(a.IDs) {
		t.Errorf("ids %v %v %v", a.IDs, b.IDs, c.IDs)
	}
	if !slices.Equal(a.Files, []string{"x_test.go"}) || !slices.Equal(a.Groups, []string{"c", "s", "suite_test.go"}) || len(c.Files) > 0 {
		t.Errorf("files %q, groups %q", a.Files, a.Groups)
	}
	if want := []string{"1ax_test.go7", "1b0", "2a [2]x_test.go7", "2b [2]0", "3a0"}; !slices.Equal(visited, want) {
		t.Errorf("visited %q, want %q", visited, want)
	}
}

func TestLedgerIsSortedAndBounded(t *testing.T) {
	_, r := mergeFor(t, Options{}, attemptOf(t, 0, suiteOf("a:passed b:passed c:passed d:passed e:passed f:passed g:passed h:passed a:passed")))
	if s := r.Shards[0]; len(s.IDs) != 8 || !slices.IsSorted(s.IDs) || s.Cut {
		t.Errorf("%+v", s)
	}
	_, r = mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite name="x_test.go"><testsuite name="in"><testcase classname="c"/></testsuite></testsuite>`))
	if want := []string{"c", "in", "x_test.go", "x_test.go > in"}; !slices.Equal(r.Shards[0].Groups, want) {
		t.Errorf("groups %q, want %q", r.Shards[0].Groups, want)
	}
	l := newLedger([]*attempt{{}})
	for i := range maxLedgerNames + 2 {
		l.note(l.files, fmt.Sprint(i))
	}
	var s Shard
	if l.close(&s); len(s.Files) != maxLedgerNames || !s.Cut {
		t.Errorf("%d files, cut %v", len(s.Files), s.Cut)
	}
}

func TestListsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<testsuite name="s">`)
	for i := range maxListed + 5 {
		fmt.Fprintf(&b, `<testcase name="%d"><failure message="m">%s</failure></testcase>`, i, strings.Repeat("x", 9000/(i+1)))
	}
	b.WriteString(`</testsuite>`)
	_, r := mergeFor(t, Options{}, attemptOf(t, 1, b.String()))
	if len(r.Failed) != maxListed || r.Failures != maxListed+5 || len(r.Failed[0].Body) > maxListedText {
		t.Errorf("%d listed of %d, body of %d bytes", len(r.Failed), r.Failures, len(r.Failed[0].Body))
	}
}
