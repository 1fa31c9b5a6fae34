package shard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// shell gives options that run a line of shell in each of n children.
func (m *machine) shell(n int, line string) Options {
	return Options{
		Scope: m.scope, Count: n, Command: []string{"sh", "-c", line}, Base: m.base, Cores: 2, Seed: 7,
		Env: []string{"PATH=" + os.Getenv("PATH")},
	}
}

// junit is a shell line that writes a report of the names into a file.
func junit(file string, names ...string) string {
	cases := ""
	for _, n := range names {
		cases += fmt.Sprintf(`<testcase classname="c" name="%s"/>`, n)
	}
	return fmt.Sprintf(`mkdir -p "$(dirname "%s")" && echo '<testsuite name="s">%s</testsuite>' > "%s"`, file, cases, file)
}

// check compares what every test expects of a run.
func check(t *testing.T, res Result, err error, code int, states ...State) {
	t.Helper()
	if err != nil {
		t.Errorf("error: %v", err)
	}
	if res.ExitCode != code {
		t.Errorf("exit code %d, want %d", res.ExitCode, code)
	}
	var got []State
	for _, s := range res.Shards {
		got = append(got, s.State)
	}
	if fmt.Sprint(got) != fmt.Sprint(states) {
		t.Errorf("states %q, want %q", got, states)
	}
}

func checkRemoved(t *testing.T, m *machine) {
	t.Helper()
	if left := m.alive(); len(left) > 0 {
		t.Errorf("children left: %q", left)
	}
	if !m.released {
		t.Error("the source was not released")
	}
}

func contents(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestEachShardRunsItsPart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(4, `echo "part <i> of {n} in <child> $BOXER_SHARD_INDEX/$BOXER_SHARD_TOTAL $TEST_SHARD_INDEX"; `+junit("reports/junit-<i>.xml", "t$BOXER_SHARD_INDEX"))
	o.Command[2] = strings.ReplaceAll(o.Command[2], "t$BOXER_SHARD_INDEX", "t<i>")
	o.JUnit = []string{"reports/*.xml"}
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed, Passed, Passed)
	checkRemoved(t, m)
	if want := "4 shards · 4 tests · each ran once"; res.Ledger.Line != want || !res.Ledger.Closed {
		t.Errorf("ledger %q, want %q", res.Ledger.Line, want)
	}
	for i, s := range res.Shards {
		log := contents(t, res.ReportDir, s.Log)
		if want := fmt.Sprintf("part %d of 4 in %s %d/4 %d\n", i+1, s.Child, i+1, i); log != want {
			t.Errorf("log of shard %d: %q, want %q", i+1, log, want)
		}
		if want := fmt.Sprintf("[%d/4] %s", i+1, log); !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
		if want := fmt.Sprintf("shard-%d/reports/junit-%d.xml", i+1, i+1); fmt.Sprint(s.Reports) != "["+want+"]" {
			t.Errorf("reports of shard %d: %q", i+1, s.Reports)
		}
	}
	if merged := contents(t, res.ReportDir, "junit.xml"); strings.Count(merged, "<testcase") != 4 {
		t.Errorf("merged report:\n%s", merged)
	}
	if got := contents(t, res.ReportDir, ".gitignore"); got != "*\n" {
		t.Errorf(".gitignore holds %q", got)
	}
	var doc struct {
		Schema   int
		ExitCode int `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(contents(t, res.ReportDir, "result.json")), &doc); err != nil || doc.Schema != 1 {
		t.Errorf("result.json: %v, schema %d", err, doc.Schema)
	}
	if _, err := os.Stat(filepath.Join(m.base, "reports")); err == nil {
		t.Error("a private child wrote into the worktree")
	}
}

func TestNodesShareTheShards(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, `echo "<i>/<n> from <i0>"`)
	o.Node = Node{2, 3}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	for i, want := range []string{"3/6 from 2\n", "4/6 from 3\n"} {
		if got := contents(t, res.ReportDir, fmt.Sprintf("shard-%d.log", i+3)); got != want {
			t.Errorf("log %q, want %q", got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	fails := `<testsuite name="s"><testcase classname="c" name="bad<i>" file="a.js" line="3"><failure message="no"/></testcase></testsuite>`
	for _, tt := range []struct {
		name, line string
		junit      []string
		code       int
		states     []State
		ledger     string
		output     string
	}{
		{"a command fails", `exit $((<i> - 1))`, nil, 1, []State{Passed, Failed}, "2 shards · not checked: no report", "exit code 1"},
		{"a report shows a failure", `echo '` + fails + `' > junit.xml; exit 1`, nil, 1, []State{Failed, Failed}, "", "a.js:3"},
		{"a report shows a failure and the command does not", `echo '` + fails + `' > junit.xml`, nil, 1, []State{Failed, Failed}, "", "FAILED [2] c > bad2"},
		{"the report is missing", `test <i> = 1 && ` + junit("r.xml", "a") + `; true`, []string{"r.xml"}, 6, []State{Passed, Failed},
			"2 shards · 1 test · missing: the report of shard 2", "no report (r.xml is missing)"},
		{"one of two named reports is missing", junit("r.xml", "a<i>"), []string{"r.xml", "s-<i>.xml"}, 6, []State{Failed, Failed},
			"2 shards · 2 tests · missing: the report of shards 1 and 2", "s-2.xml is missing"},
		{"the report is cut", `printf '<testsuite><testcase name="a<i>"/><testcase' > r.xml`, []string{"r.xml"}, 6, []State{Failed, Failed},
			"2 shards · 2 tests · cannot be read whole: the report of shards 1 and 2", "truncated"},
		{"no test ran", `echo '<testsuites/>' > r.xml`, []string{"r.xml"}, 4, []State{Failed, Failed}, "", "no test ran"},
		{"a shard without tests is no fault", `if [ <i> = 1 ]; then ` + junit("r.xml", "a") + `; else echo '<testsuites/>' > r.xml; fi`, []string{"r.xml"}, 0,
			[]State{Passed, Passed}, "2 shards · 1 test · each ran once", ""},
		{"a code for no test found", `if [ <i> = 1 ]; then ` + junit("r.xml", "a") + `; else echo '<testsuites/>' > r.xml; exit 5; fi`, []string{"r.xml"}, 0,
			[]State{Passed, Passed}, "2 shards · 1 test · each ran once", ""},
		{"a code for no test found, everywhere", `echo '<testsuites/>' > r.xml; exit 5`, []string{"r.xml"}, 4, []State{Passed, Passed}, "", ""},
		{"no test, and the command failed", `echo '<testsuites/>' > r.xml; exit 6`, []string{"r.xml"}, 1, []State{Failed, Failed}, "", "no test ran"},
		{"the command ignores its index", junit("r.xml", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), []string{"r.xml"}, 6, []State{Passed, Passed},
			"2 shards · 20 tests · shards 1 and 2 ran the same 10 tests: the command ignores the shard index", ""},
		{"not found", `exit 0`, nil, 127, []State{NotFound, NotFound}, "", "nosuchprogram is not found in PATH"},
		{"not executable", `exit 0`, nil, 126, []State{NotExecutable, NotExecutable}, "", "cannot be executed"},
		{"not found by a shell", `nosuchprogram`, nil, 1, []State{Failed, Failed}, "", "exit code 127"},
		{"a crash", `kill -SEGV $$`, nil, 1, []State{Failed, Failed}, "", "killed by SIGSEGV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(2, tt.line)
			o.JUnit, o.EmptyExitCodes = tt.junit, []int{5}
			switch tt.name {
			case "not found":
				o.Command = []string{"nosuchprogram"}
			case "not executable":
				m.write("plain", "text")
				o.Command = []string{filepath.Join(m.base, "plain")}
			}
			var out screenOf
			o.Out = &out
			res, err := Run(t.Context(), forking{m}, o)
			check(t, res, err, tt.code, tt.states...)
			checkRemoved(t, m)
			if tt.ledger != "" && res.Ledger.Line != tt.ledger {
				t.Errorf("ledger %q, want %q", res.Ledger.Line, tt.ledger)
			}
			if !strings.Contains(out.String(), tt.output) {
				t.Errorf("output lacks %q:\n%s", tt.output, out.String())
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, junit("junit.xml", "t<i>")+`; test <i> = 1 || exec sleep 60`)
	o.Timeout = time.Second
	o.JUnit = []string{"junit.xml"}
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 124, Passed, TimedOut)
	checkRemoved(t, m)
	merged := contents(t, res.ReportDir, "junit.xml")
	for _, want := range []string{`name="t2"`, "time limit 1s", "boxer.killed"} {
		if !strings.Contains(merged, want) {
			t.Errorf("the merged report lacks %q:\n%s", want, merged)
		}
	}
}

func TestForksAreTriedTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fails  int
		code   int
		states []State
		err    bool
	}{
		{1, 0, []State{Passed}, false},
		{2, 125, []State{Lost}, true},
	} {
		m := newMachine(t)
		m.failForks = tt.fails
		res, err := Run(t.Context(), forking{m}, m.shell(1, "true"))
		if (err != nil) != tt.err || (tt.err && runner.CauseOf(err) != runner.NoMemory) {
			t.Errorf("%d forks fail: error %v", tt.fails, err)
		}
		check(t, res, nil, tt.code, tt.states...)
		contents(t, res.ReportDir, "junit.xml")
	}
}

func TestALostShardLetsTheOthersGoOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.loseChildOf = 2
	o := m.shell(3, "true")
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	if err != nil || res.ExitCode != 125 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	count := map[State]int{}
	for _, s := range res.Shards {
		count[s.State]++
	}
	if count[Lost] != 1 || count[Passed] != 2 {
		t.Errorf("states %v", count)
	}
	checkRemoved(t, m)
	if !strings.Contains(out.String(), "-f2 died") {
		t.Errorf("the reason is not told:\n%s", out.String())
	}
}

func TestBackendFaultsAreNoGreen(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*machine){
		"collect": func(m *machine) { m.failCollect = true },
		"clear":   func(m *machine) { m.failClear = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			set(m)
			o := m.shell(2, junit("r.xml", "t<i>"))
			o.JUnit = []string{"r.xml"}
			res, err := Run(t.Context(), forking{m}, o)
			check(t, res, nil, 125, Lost, Lost)
			checkRemoved(t, m)
			if err != nil && runner.CauseOf(err) != runner.BackendFailed {
				t.Errorf("not actionable: %v", err)
			}
			if started := !res.Shards[0].Started.IsZero(); started != (err == nil) {
				t.Errorf("the command started: %v, error: %v", started, err)
			}
		})
	}
}

func TestFailFast(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(3, `test <i> = 2 && exit 1; exec sleep 60`)
	o.FailFast = true
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Cancelled, Failed, Cancelled)
	checkRemoved(t, m)
	if !strings.Contains(res.Shards[0].Reason, "because shard 2 failed") {
		t.Errorf("reason %q", res.Shards[0].Reason)
	}
}
