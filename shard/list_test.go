package shard

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/shard/ledger"
)

// runner of a fake test framework: it runs its arguments as shell files, one case each, and writes one report. The
// exit code is that of the worst.
const framework = `
mkdir -p out; code=0; echo "$@" >>ran; echo "$*" >out/coverage
{
	echo '<testsuites>'
	for f; do
		if sh "$f" >&2; then result=; else code=1; result='<failure message="no"/>'; fi
		echo "<testsuite name=\"$f\"><testcase classname=\"$f\" name=\"works\" file=\"$f\" time=\"0.01\">$result</testcase></testsuite>"
	done
	echo '</testsuites>'
} >out/junit.xml
exit $code`

// listing gives options that deal files with these contents to n children.
func (m *machine) listing(n int, files map[string]string) Options {
	o := m.shell(n, "")
	var names []string
	for name, text := range files {
		m.write(name, text)
		names = append(names, name)
	}
	slices.Sort(names)
	m.write("framework.sh", framework)
	o.Command = []string{"sh", "framework.sh"}
	o.JUnit, o.Artifacts = []string{"out/junit.xml"}, []string{"out/coverage"}
	o.Tests = &Tests{Names: names}
	return o
}

// patience is longer than a unit that does not hang can take on a busy machine.
const patience = 3 * time.Second

func passing(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("test/%02d.sh", i+1)] = "true"
	}
	return files
}

func books(t *testing.T, res Result) map[string]ledger.Line {
	t.Helper()
	var doc ledger.Document
	if err := json.Unmarshal([]byte(contents(t, res.ReportDir, ledgerFile)), &doc); err != nil {
		t.Fatal(err)
	}
	of := map[string]ledger.Line{}
	for _, l := range doc.Units {
		of[l.Unit] = l
	}
	return of
}

func wantLedger(t *testing.T, res Result, line string, closed bool) {
	t.Helper()
	if res.Ledger.Line != line || res.Ledger.Closed != closed {
		t.Errorf("ledger %q, closed %v\nwant   %q, closed %v", res.Ledger.Line, res.Ledger.Closed, line, closed)
	}
}

// Twelve files, two children, one path for the report and one for the coverage: everything arrives.
func TestAListIsDealtAndAllOfItArrives(t *testing.T) {
	t.Parallel()
	for _, static := range []bool{false, true} {
		m := newMachine(t)
		o := m.listing(2, passing(12))
		o.Tests.Static = static
		res, err := Run(t.Context(), forking{m}, o)
		check(t, res, err, 0, Passed, Passed)
		checkRemoved(t, m)
		wantLedger(t, res, "2 shards · 12 units · 12 tests · each ran once", true)
		if res.Report.Tests != 12 || !res.Ledger.Units.complete() {
			t.Errorf("%+v %+v", res.Report.Totals, res.Ledger.Units)
		}
		covered := ""
		files, _ := filepath.Glob(filepath.Join(res.ReportDir, "shard-*/batch-*/out/coverage"))
		for _, f := range files {
			covered += contents(t, f)
		}
		ran := strings.Fields(covered)
		slices.Sort(ran)
		if want := o.Tests.Names; !slices.Equal(ran, want) {
			t.Errorf("coverage of %q, want %q", ran, want)
		}
		for unit, l := range books(t, res) {
			if l.Verdict != ledger.IsPassed || len(l.Goes) != 1 || l.Goes[0].By != "report" || l.Goes[0].Order == 0 {
				t.Errorf("%s: %+v", unit, l)
			}
		}
		if text := contents(t, res.ReportDir, timingsFile); strings.Count(text, `"runs"`) != 12 {
			t.Errorf("timings:\n%s", text)
		}
	}
}

// Where the command names no place for the units they go behind it; else where it says, quoted for a shell within a
// word, or in a file.
func TestUnitsReachTheCommand(t *testing.T) {
	t.Parallel()
	odd := []string{"-rf", "it's $x", "two words", "ümlaut"}
	for _, tt := range []struct {
		name    string
		command []string
		want    string
	}{
		{"appended", []string{"sh", "-c", `printf '<%s>' "$@"`, "sh"}, "<./-rf><it's $x><two words><ümlaut>"},
		{"words", []string{"sh", "-c", `printf '<%s>' "$@"`, "sh", "a", "<tests>", "z"}, "<a><./-rf><it's $x><two words><ümlaut><z>"},
		{"braces", []string{"sh", "-c", `printf '<%s>' "$@"`, "sh", "{tests}"}, "<./-rf><it's $x><two words><ümlaut>"},
		{"in a line", []string{"sh", "-c", `printf '<%s>' <tests> end`}, "<./-rf><it's $x><two words><ümlaut><end>"},
		{"a file", []string{"sh", "-c", `cat <tests-file>; echo end`}, "-rf\nit's $x\ntwo words\nümlaut\nend\n"},
		{"not ours", []string{"sh", "-c", `tests=1; printf '<%s>' "${tests}" {{tests}} "$@"`, "sh", "<tests>"}, "<1><{{tests}}><./-rf><it's $x><two words><ümlaut>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(1, "")
			o.Command = tt.command
			o.Tests = &Tests{Names: odd, Static: true}
			res, err := Run(t.Context(), sharing{m}, o)
			check(t, res, err, 0, Passed)
			if got := contents(t, res.ReportDir, "shard-1.log"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if left, _ := filepath.Glob(filepath.Join(res.ReportDir, ".shard-*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestAListIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"with the index", func(o *Options) { o.Command = []string{"jest", "--shard=<i>/<n>"} }, "LIST_AND_INDEX"},
		{"with the index from 0", func(o *Options) { o.Command = []string{"jest", "{i0}"} }, "LIST_AND_INDEX"},
		{"with how many there are", func(o *Options) { o.Command = []string{"jest", "<n>"} }, ""},
		{"behind a line that reads no arguments", func(o *Options) { o.Command = []string{"bash", "-ec", "npm test"} }, "LIST_NOT_USED"},
		{"in a line that does", func(o *Options) { o.Command = []string{"bash", "-ec", `npm test -- "$@"`} }, ""},
		{"empty", func(o *Options) { o.Tests.Names = nil }, "EMPTY_LIST"},
		{"with a name of 200 kB", func(o *Options) { o.Tests.Names = []string{strings.Repeat("x", 200_000)} }, "BAD_LIST"},
		{"in a variable", func(o *Options) { o.Env = append(o.Env, "A=<tests>") }, "NO_TEST_LIST"},
		{"but there is none", func(o *Options) { o.Tests, o.Command = nil, []string{"jest", "<tests>"} }, "NO_TEST_LIST"},
		{"without one, a limit of units", func(o *Options) { o.Tests, o.UnitTimeout = nil, time.Second }, "NO_TEST_LIST"},
		{"retries", func(o *Options) { o.Retries = 11 }, "BAD_CHOICE"},
	} {
		o := m.listing(2, passing(2))
		tt.change(&o)
		if got := causes(o.Validate()); got != tt.want {
			t.Errorf("%s: %q, want %q (%v)", tt.name, got, tt.want, o.Validate())
		}
	}
}

func TestALister(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line, cause string
		nul               bool
		code              int
		units             int
	}{
		{"lines", `printf 'test/01.sh\r\n\n test/02.sh \ntest/01.sh\n'; echo told >&2`, "", false, 0, 2},
		{"nul", `find test -name '*.sh' -print0`, "", true, 0, 3},
		{"nothing", `echo told >&2`, "EMPTY_LIST", false, 4, 0},
		{"failure", `echo test/01.sh; echo told >&2; exit 3`, "LIST_FAILED", false, 125, 0},
		{"nul without -0", `find test -print0`, "BAD_LIST", false, 125, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.listing(2, passing(3))
			o.Tests = &Tests{Lister: []string{"sh", "-c", tt.line}, NUL: tt.nul}
			m.folders[""] = m.base // the parent
			res, err := Run(t.Context(), forking{m}, o)
			delete(m.folders, "")
			if causes(err) != tt.cause || res.ExitCode != tt.code {
				t.Errorf("exit code %d, %v", res.ExitCode, err)
			}
			if len(tt.cause) > 0 && tt.name != "nul without -0" && !strings.Contains(fmt.Sprint(err), "told") {
				t.Errorf("what the lister said is lost: %v", err)
			}
			if err == nil && res.Ledger.Units.Listed != tt.units {
				t.Errorf("%+v", res.Ledger)
			}
		})
	}
}

// More children than units: the others do not start.
func TestMoreChildrenThanUnits(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	res, err := Run(t.Context(), forking{m}, m.listing(5, passing(2)))
	check(t, res, err, 0, Passed, Passed)
	wantLedger(t, res, "2 shards · 2 units · 2 tests · each ran once", true)
	if m.made != 2 || fmt.Sprint(res.Ledger.Notes) != "[3 children had nothing to do and did not start]" {
		t.Errorf("%d forks, %q", m.made, res.Ledger.Notes)
	}
}

func TestWhatAListShows(t *testing.T) {
	t.Parallel()
	const writes = `mkdir -p out; echo '<testsuites>' >out/junit.xml; for f; do %s; done; echo '</testsuites>' >>out/junit.xml`
	says := func(name, file string) string {
		return fmt.Sprintf(`echo "<testsuite name=\"s\"><testcase name=\"%s\" %s/></testsuite>" >>out/junit.xml`, name, file)
	}
	for _, tt := range []struct {
		name, line, ledger string
		code               int
	}{
		{"names no files", fmt.Sprintf(writes, says("of $f", `classname=\"c\"`)),
			"2 shards · 6 units · 6 tests · each ran once · by command", 0},
		{"leaves one out", fmt.Sprintf(writes, `case $f in *03*) ;; *) `+says("t", `file=\"$f\"`)+`;; esac`),
			"2 shards · 6 units · 5 tests · missing: 1 unit left no result (test/03.sh)", 6},
		{"runs another's too", fmt.Sprintf(writes, says("t", `file=\"$f\"`)+`; case $f in *03*) `+says("again", `file=\"test/06.sh\"`)+`;; esac`),
			"2 shards · 6 units · 7 tests · doubled: 1 unit also ran where it was not given (test/06.sh)", 6},
		{"runs a set-up that is not listed", fmt.Sprintf(writes, says("t", `file=\"$f\"`)+"; "+says("signs in", `file=\"test/auth.setup.ts\"`)),
			"2 shards · 6 units · 12 tests · each ran once", 0},
		{"leaves one out beside a set-up in Playwright's way", fmt.Sprintf(writes, `case $f in *03*) f=auth.setup.sh;; esac; `+
			`echo "<testsuite name=\"${f#test/}\"><testcase classname=\"${f#test/}\" name=\"t\"/></testsuite>" >>out/junit.xml`),
			"2 shards · 6 units · 6 tests · missing: 1 unit left no result (test/03.sh)", 6},
		{"has the file on the suite", fmt.Sprintf(writes, `echo "<testsuite name=\"s\" file=\"$PWD/$f\"><testcase name=\"t\"/></testsuite>" >>out/junit.xml`),
			"2 shards · 6 units · 6 tests · each ran once", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.listing(2, passing(6))
			o.Tests.Static = true // 03 and 06 go to different children
			o.Command = []string{"sh", "-c", tt.line, "sh"}
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != tt.code {
				t.Errorf("exit code %d, %v", res.ExitCode, err)
			}
			wantLedger(t, res, tt.ledger, tt.code == 0)
		})
	}
}

// A unit over its limit, or one that ends its child, costs nobody else's result: what shared its command runs again by
// itself.
func TestOneUnitBreaksItsChild(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, breaks, outcome string
		code                  int
		state                 State
	}{
		{"hangs", "echo last words; sleep 60", "hung", 124, TimedOut},
		{"crashes the command", "kill -SEGV $PPID", "failed", 1, Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			files := passing(3)
			files["test/02.sh"] = tt.breaks
			o := m.listing(1, files)
			o.Tests.Static, o.UnitTimeout = true, patience
			res, err := Run(t.Context(), forking{m}, o)
			check(t, res, err, tt.code, tt.state)
			checkRemoved(t, m)
			of := books(t, res)
			for unit, l := range of {
				last := l.Goes[len(l.Goes)-1]
				if broken := unit == "test/02.sh"; broken && string(last.Outcome) != tt.outcome || !broken && l.Verdict != ledger.IsPassed {
					t.Errorf("%s: %s, %+v", unit, l.Verdict, l.Goes)
				}
				if l.Goes[0].Outcome != ledger.Interrupted || len(l.Goes) != 2 {
					t.Errorf("%s: %+v", unit, l.Goes)
				}
			}
			if res.Report.Tests != 3 || res.Report.Bad() != 1 || len(res.Report.ErrorCases) != 1 || res.Report.ErrorCases[0].Name != "test/02.sh" {
				t.Errorf("%+v %+v", res.Report.Totals, res.Report.ErrorCases)
			}
			if tt.state == TimedOut && !strings.Contains(res.Report.ErrorCases[0].Body, "last words") {
				t.Errorf("%+v", res.Report.ErrorCases[0])
			}
		})
	}
}

func TestAUnitThatEndsItsChild(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.loseChildOf = 1
	res, err := Run(t.Context(), forking{m}, func() Options {
		o := m.listing(1, passing(3))
		o.Tests.Static = true
		return o
	}())
	check(t, res, err, 0, Passed) // the first child was lost with all three, and each ran again
	if res.Report.Tests != 3 || !res.Ledger.Closed || len(res.Warnings) == 0 {
		t.Errorf("%+v %q %q", res.Report.Totals, res.Ledger.Line, res.Warnings)
	}
}

// A file without a test is no failure where the runner says so by its exit code, and no test at all is exit code 4.
func TestUnitsWithoutTests(t *testing.T) {
	t.Parallel()
	const line = `mkdir -p out; echo '<testsuites/>' >out/junit.xml; case $1 in %s) exit 5;; esac
		echo "<testsuite name=\"s\"><testcase name=\"t\" file=\"$1\"/></testsuite>" >out/junit.xml`
	for empty, code := range map[string]int{"*01*": 0, "*": 4} {
		m := newMachine(t)
		o := m.listing(2, passing(2))
		o.Tests.Static, o.EmptyExitCodes = true, []int{5}
		o.Command = []string{"sh", "-c", fmt.Sprintf(line, empty), "sh"}
		res, err := Run(t.Context(), forking{m}, o)
		check(t, res, err, code, Passed, Passed)
		if o.EmptyExitCodes = []int{4}; code == 0 {
			res, err = Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != 1 {
				t.Errorf("exit code %d, %v", res.ExitCode, err)
			}
		}
	}
}

func TestFailFastStopsTheQueue(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	files := passing(6)
	files["test/01.sh"], files["test/02.sh"] = "exit 1", "sleep 60"
	o := m.listing(2, files)
	o.FailFast = true
	m.write("timings.json", `{"schema":1,"units":{"test/01.sh":{"runs":[9]},"test/02.sh":{"runs":[9]},"test/03.sh":{"runs":[1]},
		"test/04.sh":{"runs":[1]},"test/05.sh":{"runs":[1]},"test/06.sh":{"runs":[1]}}}`) // so that the first two come first, each alone
	o.Timings = filepath.Join(m.base, "timings.json")
	res, err := Run(t.Context(), forking{m}, o)
	if err != nil || res.ExitCode != 1 || res.Ledger.Units.NotRun == 0 || res.Ledger.Units.Failed != 1 {
		t.Errorf("exit code %d, %v, %+v", res.ExitCode, err, res.Ledger)
	}
}

// What broke the second time is not what broke the first time: once a real failure always a real failure.
func TestRetries(t *testing.T) {
	t.Parallel()
	once := func(m *machine) string { // fails in the first child that runs it, whatever child that is
		return fmt.Sprintf("mkdir %s/mark 2>/dev/null || exit 0; exit 1", m.t.TempDir())
	}
	for _, tt := range []struct {
		name          string
		change        func(m *machine, o *Options)
		code          int
		units         Units
		flaky, tests  int
		verdict, warn string
	}{
		{name: "flaky and real", change: func(m *machine, o *Options) {
			m.write("test/02.sh", once(m))
			m.write("test/05.sh", "exit 1")
		}, code: 1, units: Units{Listed: 6, Passed: 4, Flaky: 1, Real: 1}, flaky: 1, tests: 6},
		{name: "flaky alone", change: func(m *machine, o *Options) { m.write("test/02.sh", once(m)) },
			units: Units{Listed: 6, Passed: 5, Flaky: 1}, flaky: 1, tests: 6},
		{name: "flaky fails the run", change: func(m *machine, o *Options) {
			m.write("test/02.sh", once(m))
			o.FailOnFlaky = true
		}, code: 1, units: Units{Listed: 6, Passed: 5, Flaky: 1}, flaky: 1, tests: 6},
		{name: "too many", change: func(m *machine, o *Options) {
			m.write("test/02.sh", once(m))
			m.write("test/05.sh", "exit 1")
			o.MaxRetried = 1
		}, code: 1, units: Units{Listed: 6, Passed: 4, Failed: 2}, tests: 6, warn: "2 tests failed, more than the 1 that are retried at most: nothing was"},
		{name: "hung once", change: func(m *machine, o *Options) {
			m.write("test/02.sh", strings.Replace(once(m), "exit 1", "sleep 60", 1))
			o.UnitTimeout = patience
		}, units: Units{Listed: 6, Passed: 5, Flaky: 1}, tests: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.listing(2, passing(6))
			o.Retries = 2
			tt.change(m, &o)
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != tt.code {
				t.Errorf("exit code %d, %v", res.ExitCode, err)
			}
			checkRemoved(t, m)
			if res.Ledger.Units != tt.units || res.Report.Flaky != tt.flaky || res.Report.Tests != tt.tests || !res.Ledger.Closed {
				t.Errorf("%+v\n%+v", res.Ledger, res.Report.Totals)
			}
			if tt.warn != "" && !slices.Contains(res.Warnings, tt.warn) {
				t.Errorf("%q", res.Warnings)
			}
			for unit, l := range books(t, res) {
				for _, g := range l.Goes {
					if g.Attempt > 1 && l.Goes[0].Outcome == ledger.Passed {
						t.Errorf("%s passed and was retried: %+v", unit, l.Goes)
					}
				}
			}
		})
	}
}

// Without a list the whole shard runs again, if tests of it failed; a broken build does not.
func TestRetriesOfWholeShards(t *testing.T) {
	t.Parallel()
	report := func(cases string) string {
		return `mkdir -p out; echo '<testsuite name="s">` + cases + `</testsuite>' >out/junit.xml`
	}
	const good, bad = `<testcase name="a"/><testcase name="b"/>`, `<testcase name="a"/><testcase name="b"><failure message="no"/></testcase>`
	first := func(m *machine, then, else_ string) string {
		return fmt.Sprintf(`if mkdir %s/mark-<i> 2>/dev/null; then %s; else %s; fi`, m.t.TempDir(), then, else_)
	}
	for _, tt := range []struct {
		name     string
		line     func(m *machine) string
		code     int
		attempts int
		flaky    int
		reports  bool
		warn     string
	}{
		{"flaky", func(m *machine) string { return first(m, report(bad)+"; exit 1", report(good)) }, 0, 2, 2, true, ""},
		{"real", func(m *machine) string { return report(bad) + "; exit 1" }, 1, 3, 0, true, ""},
		{"build", func(m *machine) string { return report(good) + "; exit 1" }, 1, 1, 0, true, ""},
		{"no case", func(m *machine) string { return report("") + "; exit 1" }, 1, 1, 0, true, ""},
		{"other tests", func(m *machine) string { return first(m, report(bad)+"; exit 1", report(`<testcase name="a"/>`)) }, 1, 2, 0, true,
			"the retry of shard 1/2 does not count: 1 test that had failed did not run again"},
		{"no report at all", func(m *machine) string { return first(m, "exit 1", "true") }, 0, 2, 2, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(2, tt.line(m))
			o.Retries = 2
			if tt.reports {
				o.JUnit = []string{"out/junit.xml"}
			}
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != tt.code || res.Report.Flaky != tt.flaky {
				t.Errorf("exit code %d, %v, %+v %q", res.ExitCode, err, res.Report.Totals, res.Ledger.Line)
			}
			checkRemoved(t, m)
			if n := max(len(res.Shards[0].Batches), 1); n != tt.attempts {
				t.Errorf("%d attempts, want %d", n, tt.attempts)
			}
			if tt.warn != "" && !slices.Contains(res.Warnings, tt.warn) {
				t.Errorf("%q", res.Warnings)
			}
		})
	}
}

func TestRerunFailed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	files := passing(4)
	files["test/02.sh"] = "exit 1"
	o := m.listing(2, files)
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, res.Shards[0].State, res.Shards[1].State)
	doc, err := ledger.Load(filepath.Join(res.ReportDir, ledgerFile))
	if err != nil {
		t.Fatal(err)
	}
	m.write("test/02.sh", "true")
	m.write("test/09.sh", "true")
	o.Tests = &Tests{Names: append(o.Tests.Names, "test/09.sh"), Again: &doc}
	res, err = Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if of := books(t, res); len(of) != 2 || of["test/02.sh"].Verdict != ledger.IsPassed || of["test/09.sh"].Verdict != ledger.IsPassed {
		t.Errorf("%+v", of)
	}
	doc, err = ledger.Load(filepath.Join(res.ReportDir, ledgerFile))
	if err != nil {
		t.Fatal(err)
	}
	o.Tests = &Tests{Names: []string{"test/02.sh"}, Again: &doc}
	res, err = Run(t.Context(), forking{m}, o)
	check(t, res, err, 0)
	wantLedger(t, res, "0 shards · 0 units · 0 tests · nothing to run again", true)
}

// Two nodes without a word between them deal each unit once; a third one with other timings would not.
func TestNodesDealOneList(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var folders []string
	seen := map[string]int{}
	for i := 1; i <= 2; i++ {
		o := m.listing(2, passing(7))
		o.Node = Node{i, 2}
		res, err := Run(t.Context(), forking{m}, o)
		check(t, res, err, 0, Passed, Passed)
		folders = append(folders, res.ReportDir)
		for unit := range books(t, res) {
			seen[unit]++
		}
	}
	if len(seen) != 7 {
		t.Errorf("%v", seen)
	}
	for unit, times := range seen {
		if times != 1 {
			t.Errorf("%s was dealt %d times", unit, times)
		}
	}
	merged, err := Merge(t.Context(), MergeOptions{Folders: folders, Dir: filepath.Join(m.base, "merged"), Base: m.base, Out: io.Discard, Say: func(string, ...any) {}})
	if err != nil || merged.ExitCode != 0 || merged.Ledger.Line != "4 shards · 7 units · 7 tests · each ran once" {
		t.Errorf("%d %v %q", merged.ExitCode, err, merged.Ledger.Line)
	}
}

func TestLeftoversAreNamed(t *testing.T) {
	t.Parallel()
	all := processesIn("40\n1 0 init\n7 1 redis-server\n30 7 (odd) name\n38 1 sh\n39 38 timeout\n40 39 sh\n41 1 node\n")
	if got := fmt.Sprint(all.names()); got != "[(odd) name (30) init (1) node (41) redis-server (7)]" {
		t.Error(got)
	}
	before := processes{"1": "init", "7": "redis-server"}
	if got := (processes{"1": "init", "7": "redis-server", "30": "node", "31": "sh"}).without(before).names(); fmt.Sprint(got) != "[node (30) sh (31)]" {
		t.Errorf("%q", got)
	}
	if got := (processes{"30": "node"}).without(nil); len(got) != 0 {
		t.Errorf("nothing is known of what was there before: %q", got)
	}
}
