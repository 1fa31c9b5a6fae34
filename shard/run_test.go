package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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

// interrupted is the cause that a caller ends the run with.
type interrupted syscall.Signal

func (i interrupted) Signal() syscall.Signal { return syscall.Signal(i) }
func (i interrupted) Error() string          { return "interrupted by " + signalName(i.Signal()) }

// screenOf is what was written, and lets a test wait for a part of it.
type screenOf struct {
	mu      sync.Mutex
	text    bytes.Buffer
	waiting []waiting
}

type waiting struct {
	part  string
	count int
	done  chan struct{}
}

func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	s.waiting = pending(s.waiting, s.text.String())
	return len(p), nil
}

func pending(all []waiting, text string) []waiting {
	var left []waiting
	for _, w := range all {
		if strings.Count(text, w.part) >= w.count {
			close(w.done)
		} else {
			left = append(left, w)
		}
	}
	return left
}

// when closes the channel once the part was written that many times.
func (s *screenOf) when(part string, count int) <-chan struct{} {
	done := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = pending(append(s.waiting, waiting{part, count, done}), s.text.String())
	return done
}

func (s *screenOf) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// want is what a test expects of a run.
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

func TestOldReportsCountForNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		named   []string
		age     time.Duration
		code    int
		checked bool
	}{
		{"named, as if it were new", []string{"reports/*.xml"}, -time.Hour, 6, false},
		{"named and old", []string{"reports/*.xml"}, time.Hour, 6, false},
		{"in a usual place and old", nil, time.Hour, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.write("reports/old.xml", `<testsuite name="s"><testcase name="old"/></testsuite>`)
			then := time.Now().Add(-tt.age)
			if err := os.Chtimes(filepath.Join(m.base, "reports/old.xml"), then, then); err != nil {
				t.Fatal(err)
			}
			o := m.shell(1, "true")
			o.JUnit = tt.named
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != tt.code || res.Shards[0].Checked != tt.checked {
				t.Errorf("exit code %d, checked %v, error %v", res.ExitCode, res.Shards[0].Checked, err)
			}
			if strings.Contains(contents(t, res.ReportDir, "junit.xml"), `name="old"`) {
				t.Error("the old report was merged")
			}
			contents(t, m.base, "reports/old.xml") // the worktree's own is still there
		})
	}
}

func TestUsualPlaces(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"junit-x.xml", "reports/a/b.xml", "test-results/r.xml", "target/surefire-reports/TEST-a.xml", "build/test-results/test/a.xml"} {
		m := newMachine(t)
		o := m.shell(2, junit(place, "t<i>")+`; echo x > reports.html; mkdir -p reports; echo x > reports/index.html`)
		res, err := Run(t.Context(), forking{m}, o)
		check(t, res, err, 0, Passed, Passed)
		if res.Ledger.Line != "2 shards · 2 tests · each ran once" {
			t.Errorf("%s: %s", place, res.Ledger.Line)
		}
		contents(t, res.ReportDir, "shard-2", place)
	}
}

func TestUsualPlacesOfASubfolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("web/[app]/package.json", "{}")
	o := m.shell(2, junit("reports/r.xml", "t<i>"))
	o.Dir = filepath.Join(m.base, "web")
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if !res.Shards[0].Checked {
		t.Errorf("the report in web/reports was not found: %s", res.Ledger.Line)
	}
}

func TestNoReportGivesAHint(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("package.json", `{"scripts": {"test": "vitest run"}}`)
	var out screenOf
	o := m.shell(2, "true # npm test")
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if !strings.Contains(out.String(), "hint: vitest writes one with --reporter") {
		t.Errorf("no hint:\n%s", out.String())
	}
}

func TestArtifactsOfAFailedShard(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, `mkdir -p out/<i>; echo shot > out/<i>/shot.png; ln -s /etc/passwd out/<i>/link.txt; exit 3`)
	o.Artifacts = []string{"out/<i>/*"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Failed, Failed)
	if got := contents(t, res.ReportDir, "shard-2/out/2/shot.png"); got != "shot\n" {
		t.Errorf("artifact %q", got)
	}
	if got := fmt.Sprint(res.Shards[1].NotCollected); got != "[{out/2/link.txt symlink}]" {
		t.Errorf("not collected: %s", got)
	}
	if got := fmt.Sprint(res.Shards[1].Artifacts); got != "[shard-2/out/2/shot.png]" {
		t.Errorf("artifacts: %s", got)
	}
}

func TestAReportBehindASymlinkIsMissing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, junit("good.xml", "a")+`; ln -s good.xml bad.xml`)
	o.JUnit = []string{"*.xml"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 6, Failed)
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
			if started := !res.Shards[0].Started.IsZero(); started != (err == nil) {
				t.Errorf("the command started: %v, error: %v", started, err)
			}
		})
	}
}

func TestRemovalIsTriedAgainAndItsFailureTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.failRemoves = 1
	res, err := Run(t.Context(), forking{m}, m.shell(2, "true"))
	check(t, res, err, 0, Passed, Passed)
	checkRemoved(t, m)

	m = newMachine(t)
	m.failRemoves = 2
	res, err = Run(t.Context(), forking{m}, m.shell(2, "true"))
	if runner.CauseOf(err) != "NOT_REMOVED" || res.ExitCode != 125 || len(res.NotRemoved) != 2 {
		t.Errorf("exit code %d, left %q, error %v", res.ExitCode, res.NotRemoved, err)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "exit $((<i> - 1))")
	o.Keep = true
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Passed, Failed)
	if len(m.kept) != 2 || len(m.alive()) != 2 {
		t.Errorf("kept %q, alive %q", m.kept, m.alive())
	}
	if want := "look inside: boxer run --scope " + res.Shards[1].Child + " -- sh\n"; !strings.Contains(out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, out.String())
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

func TestAStrangeSignalCancelsTheRun(t *testing.T) {
	t.Parallel()
	for signal, code := range map[string]int{"TERM": 143, "KILL": 137} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(3, `test <i> = 2 && kill -`+signal+` $$; exec sleep 60`)
			res, err := Run(t.Context(), forking{m}, o)
			check(t, res, err, code, Cancelled, Cancelled, Cancelled)
			checkRemoved(t, m)
		})
	}
}

// cancelWhen runs the options and interrupts the run once the part was written that many times.
func cancelWhen(t *testing.T, s runner.Session, o Options, cause error, part string, count int) (Result, error, time.Duration) {
	t.Helper()
	var out screenOf
	o.Out = &out
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	seen := out.when(part, count)
	var since time.Time
	go func() {
		<-seen
		since = time.Now()
		cancel(cause)
	}()
	res, err := Run(ctx, s, o)
	select {
	case <-seen:
	default:
		t.Fatalf("the run ended before %q was seen %d times:\n%s", part, count, out.String())
	}
	if ctx.Err() == nil {
		<-ctx.Done()
	}
	return res, err, time.Since(since)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		signal     syscall.Signal
		limit      time.Duration
	}{
		{"SIGINT, children obey", "echo ready; exec sleep 60", syscall.SIGINT, 2 * time.Second},
		{"SIGTERM, children obey", "echo ready; exec sleep 60", syscall.SIGTERM, 2 * time.Second},
		{"SIGHUP, children do not", `trap "" TERM; echo ready; while :; do sleep 60; done`, syscall.SIGHUP, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(4, junit("r.xml", "t<i>")+"; "+tt.line)
			o.JUnit = []string{"r.xml"}
			res, err, took := cancelWhen(t, forking{m}, o, interrupted(tt.signal), "ready", 4)
			check(t, res, err, 128+int(tt.signal), Cancelled, Cancelled, Cancelled, Cancelled)
			checkRemoved(t, m)
			if took > tt.limit {
				t.Errorf("took %s, limit %s", took, tt.limit)
			}
			if merged := contents(t, res.ReportDir, "junit.xml"); !strings.Contains(merged, `name="t4"`) {
				t.Errorf("what the shards had written is not in the report:\n%s", merged)
			}
		})
	}
}

func TestInterruptWhileForking(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	m.onFork = func(n int) {
		if n == 2 {
			cancel(interrupted(syscall.SIGINT))
		}
	}
	res, err := Run(ctx, forking{m}, m.shell(4, "exec sleep 60"))
	check(t, res, err, 130, Cancelled, Cancelled, Cancelled, Cancelled)
	checkRemoved(t, m)
	if m.made != 2 {
		t.Errorf("%d children were made, want 2", m.made)
	}
	for _, s := range res.Shards {
		if s.Child == "" && !s.Started.IsZero() {
			t.Errorf("shard %d started without a child", s.Number)
		}
	}
}

func TestInterruptWithKeepRemoves(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "echo ready; exec sleep 60")
	o.Keep = true
	res, err, _ := cancelWhen(t, forking{m}, o, interrupted(syscall.SIGINT), "ready", 2)
	check(t, res, err, 130, Cancelled, Cancelled)
	checkRemoved(t, m)
}

func TestKill(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	kill := make(chan struct{})
	o := m.shell(4, `trap "" TERM; echo ready; while :; do sleep 60; done`)
	o.Kill = kill
	var out screenOf
	o.Out = &out
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ready := out.when("ready", 4)
	var since time.Time
	go func() {
		<-ready
		since = time.Now()
		cancel(interrupted(syscall.SIGINT))
		close(kill)
	}()
	res, err := Run(ctx, forking{m}, o)
	check(t, res, err, 130, Cancelled, Cancelled, Cancelled, Cancelled)
	checkRemoved(t, m)
	if took := time.Since(since); took > 1500*time.Millisecond {
		t.Errorf("took %s although nobody would wait", took)
	}
	contents(t, res.ReportDir, "junit.xml")
}

func TestALeftoverProcessHoldsNothingUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `sleep 60 & echo done`)
	begin := time.Now()
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("waited %s", took)
	}
	if !res.Shards[0].Leftover || len(res.Warnings) != 1 {
		t.Errorf("leftover %v, warnings %q", res.Shards[0].Leftover, res.Warnings)
	}
	if log := contents(t, res.ReportDir, "shard-1.log"); log != "done\n" {
		t.Errorf("log %q", log)
	}
}

func TestSharedMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, junit("reports/r-<i>.xml", "t<i>")+`; echo "$TEST_SHARD_STATUS_FILE"; touch "$TEST_SHARD_STATUS_FILE"`)
	o.JUnit = []string{"reports/r-<i>.xml"}
	res, err := Run(t.Context(), sharing{m}, o)
	check(t, res, err, 0, Passed, Passed)
	checkRemoved(t, m)
	if res.Ledger.Line != "2 shards · 2 tests · each ran once" {
		t.Error(res.Ledger.Line)
	}
	status := strings.TrimSpace(contents(t, res.ReportDir, "shard-1.log"))
	if _, err := os.Stat(status); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(status, res.ReportDir) {
		t.Errorf("status file %q is left: %v", status, err)
	}
}

func TestSharedMachineNeedsOwnReportPaths(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "true")
	o.JUnit = []string{"reports/r.xml"}
	res, err := Run(t.Context(), sharing{m}, o)
	if runner.CauseOf(err) != samePath || res.ExitCode != 2 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	if m.made != 0 {
		t.Error("a child was started")
	}
	if _, err := os.Stat(filepath.Join(m.base, "boxer-report")); err == nil {
		t.Error("the report folder was made")
	}
}

func TestSharedWorktreeTakesNoForeignReports(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, junit("reports/r.xml", "t"))
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), sharing{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if res.Ledger.Line != "2 shards · not checked: no report" || !strings.Contains(out.String(), "--junit 'reports/junit-<i>.xml'") {
		t.Errorf("%s\n%s", res.Ledger.Line, out.String())
	}
}

func TestOwnReportFolderIsNoReport(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("boxer-report/.gitignore", "*\n")
	m.write("boxer-report/shard-9/old.xml", "<testsuite><testcase name='old'/></testsuite>")
	o := m.shell(1, junit("boxer-report/shard-9/r.xml", "foreign")+"; "+junit("r.xml", "mine"))
	o.JUnit = []string{"**/*.xml"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	if got := fmt.Sprint(res.Shards[0].Reports); got != "[shard-1/r.xml]" {
		t.Errorf("reports %s", got)
	}
	if _, err := os.Stat(filepath.Join(res.ReportDir, "shard-1", "boxer-report")); err == nil {
		t.Error("boxer's own files were collected")
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `echo '::error::x'; echo '##[error]y'`)
	o.Fence = true
	var out screenOf
	o.Out = &out
	if _, err := Run(t.Context(), forking{m}, o); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	token, ok := strings.CutPrefix(lines[0], "::stop-commands::")
	if !ok || len(token) != 32 || lines[len(lines)-1] != "::"+token+"::" {
		t.Errorf("no fence:\n%s", out.String())
	}
	for _, l := range lines[1 : len(lines)-1] {
		if strings.HasPrefix(l, "::") || strings.Contains(l, "##[") || strings.Contains(l, token) {
			t.Errorf("a command in %q", l)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestABrokenOutputEndsNothingAndIsTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "echo x")
	o.Out = brokenPipe{}
	res, err := Run(t.Context(), forking{m}, o)
	if !errors.Is(err, syscall.EPIPE) || res.ExitCode != 125 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	checkRemoved(t, m)
	contents(t, res.ReportDir, "junit.xml")
}

// stuck is a terminal that somebody stopped.
type stuck struct {
	once    sync.Once
	reached chan struct{}
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.reached) })
	<-s.release
	return len(p), nil
}

func TestAStuckTerminalDoesNotHoldUpTheRemoval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out := &stuck{reached: make(chan struct{}), release: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(t.Context())
	o := m.shell(1, "echo x; exec sleep 60")
	o.Out = out
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx, forking{m}, o)
	}()
	<-out.reached
	cancel(interrupted(syscall.SIGINT))
	deadline := time.After(20 * time.Second)
	for len(m.alive()) > 0 {
		select {
		case <-deadline:
			t.Fatal("the child is still there")
		case <-time.After(10 * time.Millisecond):
		}
	}
	close(out.release)
	<-ended
}

func TestABusyReportFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, "echo ready; read x < gate")
	if err := syscall.Mkfifo(filepath.Join(m.base, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out screenOf
	o.Out = &out
	ready := out.when("ready", 1)
	first := make(chan Result)
	go func() {
		res, _ := Run(t.Context(), sharing{m}, o)
		first <- res
	}()
	<-ready
	other := m.shell(1, "true")
	res, err := Run(t.Context(), sharing{m}, other)
	if runner.CauseOf(err) != runner.IsBusy || res.ExitCode != 125 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	if err := os.WriteFile(filepath.Join(m.base, "gate"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	check(t, <-first, nil, 0, Passed)
}

func TestBigOutputNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `head -c 20000000 /dev/zero | tr '\0' x; echo; echo last`)
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	info, err := os.Stat(filepath.Join(res.ReportDir, "shard-1.log"))
	if err != nil || info.Size() != 20000006 {
		t.Errorf("the log is not whole: %v, %v", info, err)
	}
}
