package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	p := place{number: 3, total: 20, child: "swift-crab-f2"}
	for in, want := range map[string]string{
		"--shard=<i>/<n>":        "--shard=3/20",
		"--shard={i}/{n}":        "--shard=3/20",
		"<i0> {i0} <i><i>":       "2 2 33",
		"<child>/{child}":        "swift-crab-f2/swift-crab-f2",
		"<foo> <I> < i> <>":      "<foo> <I> < i> <>",
		"${i} ${n} $<i>":         "${i} ${n} $3",
		"{{i}} {i,n} {}":         "{{i}} {i,n} {}",
		"a{1,2}<i>":              "a{1,2}3",
		"for x in {i}; ${child}": "for x in 3; ${child}",
		"":                       "",
	} {
		if got := p.expand(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]bool{"r-<i>.xml": true, "{i0}/r.xml": true, "<child>.xml": true, "<n>.xml": false, "${i}.xml": false, "{{i}}": false, "r.xml": false, "{i}.xml": true} {
		if differs(in) != want {
			t.Errorf("differs(%q) = %v", in, !want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	base := []string{"PATH=/bin", "DB=db_<i>_of_{n}", "TEST_SHARD_INDEX=99", "BOXER_SHARD_INDEX=99", "EMPTY="}
	env := environment(base, place{2, 4, "swift-crab-f7"}, 42, "/tmp/status")
	want := []string{
		"BOXER_SEED=42", "PATH=/bin", "DB=db_2_of_4", "EMPTY=",
		"BOXER_SHARD_INDEX=2", "BOXER_SHARD_TOTAL=4", "BOXER_CHILD=swift-crab-f7",
		"TEST_SHARD_INDEX=1", "TEST_TOTAL_SHARDS=4", "TEST_SHARD_STATUS_FILE=/tmp/status",
		"GTEST_SHARD_INDEX=1", "GTEST_TOTAL_SHARDS=4",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
}

func TestTheCallersSeedWins(t *testing.T) {
	t.Parallel()
	env := environment([]string{"BOXER_SEED=5"}, place{1, 1, "x"}, 42, "")
	if !slices.Contains(env, "BOXER_SEED=5") || slices.Contains(env, "BOXER_SEED=42") {
		t.Errorf("%q", env)
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	for n := range 1000 {
		s := seedOf(7, n)
		if s == 0 || s > 1<<31-1 || s != seedOf(7, n) {
			t.Errorf("seed of %d: %d", n, s)
		}
		seen[s] = true
	}
	if len(seen) < 999 || seedOf(7, 1) == seedOf(8, 1) {
		t.Errorf("%d different seeds of 1000", len(seen))
	}
	if a, b := (Options{}).filled().Seed, (Options{}).filled().Seed; a == 0 || a == b {
		t.Errorf("random seeds %d and %d", a, b)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	all := func(states ...State) []State { return states }
	for _, tt := range []struct {
		name string
		f    facts
		want int
	}{
		{"all passed", facts{states: all(Passed, Passed)}, 0},
		{"a command failed", facts{states: all(Passed, Failed)}, 1},
		{"a case is bad", facts{states: all(Passed), failed: true}, 1},
		{"no test", facts{states: all(Passed), noTests: true}, 4},
		{"no test, but a command failed", facts{states: all(Passed, Failed), noTests: true}, 1},
		{"the ledger is open", facts{states: all(Passed), open: true}, 6},
		{"the ledger is open and a test failed", facts{states: all(Failed), open: true, failed: true}, 6},
		{"a time limit", facts{states: all(TimedOut, Passed)}, 124},
		{"a time limit, an open ledger, a failure", facts{states: all(TimedOut, Failed), open: true, failed: true}, 124},
		{"not found everywhere", facts{states: all(NotFound, NotFound), failed: true}, 127},
		{"not executable everywhere", facts{states: all(NotExecutable, NotExecutable), failed: true}, 126},
		{"either", facts{states: all(NotFound, NotExecutable), failed: true}, 126},
		{"not found in one shard", facts{states: all(NotFound, Passed), failed: true}, 1},
		{"not found in one, a time limit in the other", facts{states: all(NotFound, TimedOut), failed: true}, 124},
		{"lost", facts{states: all(Passed, Lost)}, 125},
		{"lost, and the others not found", facts{states: all(NotFound, Lost)}, 125},
		{"broken", facts{states: all(Passed), broken: true}, 125},
		{"broken and failed", facts{states: all(Failed), broken: true, failed: true}, 125},
		{"SIGINT", facts{states: all(Cancelled), signal: syscall.SIGINT}, 130},
		{"SIGHUP", facts{states: all(Cancelled), signal: syscall.SIGHUP}, 129},
		{"SIGTERM beats all", facts{states: all(Lost, TimedOut, Failed), signal: syscall.SIGTERM, broken: true, open: true, failed: true, noTests: true}, 143},
		{"stopped by the first failure", facts{states: all(Failed, Cancelled)}, 1},
		{"stopped without a signal", facts{states: all(Passed, Cancelled)}, 125},
	} {
		if got := exitCode(tt.f); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	live := context.Background()
	cancelled, cancel := context.WithCancelCause(live)
	cancel(interrupted(syscall.SIGINT))
	late, stop := limited(live, time.Nanosecond)
	defer stop()
	<-late.Done()
	exit := func(code int, s syscall.Signal) runner.Exit { return runner.Exit{Code: code, Signal: s} }
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		exit    runner.Exit
		err     error
		state   State
		strange syscall.Signal
	}{
		{"passed", live, exit(0, 0), nil, Passed, 0},
		{"failed", live, exit(3, 0), nil, Failed, 0},
		{"crashed", live, exit(139, syscall.SIGSEGV), nil, Failed, 0},
		{"a shell's 143 is an exit code", live, exit(143, 0), nil, Failed, 0},
		{"somebody's SIGTERM", live, exit(143, syscall.SIGTERM), nil, Cancelled, syscall.SIGTERM},
		{"somebody's SIGKILL", live, exit(137, syscall.SIGKILL), nil, Cancelled, syscall.SIGKILL},
		{"our SIGTERM", cancelled, exit(143, syscall.SIGTERM), context.Cause(cancelled), Cancelled, 0},
		{"our SIGTERM, told without an error", cancelled, exit(143, syscall.SIGTERM), nil, Cancelled, 0},
		{"passed just before the end", cancelled, exit(0, 0), nil, Passed, 0},
		{"failed just before the end", late, exit(1, 0), nil, Failed, 0},
		{"a time limit", late, exit(143, syscall.SIGTERM), context.Cause(late), TimedOut, 0},
		{"a time limit that the command made a failure", late, exit(1, 0), context.Cause(late), TimedOut, 0},
		{"not found", live, exit(0, 0), &runner.Error{Cause: runner.CommandNotFound}, NotFound, 0},
		{"not executable", live, exit(0, 0), fmt.Errorf("x: %w", &runner.Error{Cause: runner.CommandNotExecutable}), NotExecutable, 0},
		{"the child is gone", live, exit(0, 0), &runner.Error{Cause: runner.Gone}, Lost, 0},
		{"the child is gone because we ended it", cancelled, exit(0, 0), &runner.Error{Cause: runner.Gone}, Cancelled, 0},
	} {
		a := attempt{exit: tt.exit}
		a.judge(tt.ctx, tt.err)
		if a.state != tt.state || a.strange != tt.strange {
			t.Errorf("%s: %s, strange %v, want %s, %v", tt.name, a.state, a.strange, tt.state, tt.strange)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"./a.xml": "a.xml", ".//a": "a", "r/": "r/**/*.xml", "a/b.xml": "a/b.xml"} {
		if got := tidy(in); got != want {
			t.Errorf("tidy(%q) = %q", in, got)
		}
	}
	files := []string{"r/a.xml", "r/b.html", "r/c.junit"}
	for pattern, want := range map[string]string{"r/**": "[r/a.xml]", "r/*": "[r/a.xml]", "r/*.*": "[r/a.xml r/b.html r/c.junit]"} {
		if got := fmt.Sprint(reportsAmong(files, []string{pattern})); got != want {
			t.Errorf("reports of %s: %s", pattern, got)
		}
	}
	if got := fmt.Sprint(reportsAmong(files, []string{"r/**", "r/c.junit"})); got != "[r/a.xml r/c.junit]" {
		t.Error(got)
	}
	for _, tt := range []struct{ patterns, found, want []string }{
		{[]string{"a.xml"}, nil, []string{"a.xml"}},
		{[]string{"a.xml", "r/*.xml"}, []string{"r/b.xml"}, []string{"a.xml"}},
		{[]string{"s/*.xml", "r/*.xml"}, []string{"r/b.xml"}, nil},
		{[]string{"s/*.xml", "a.xml"}, []string{"a.xml"}, nil},
		{[]string{"s/*.xml", "a.xml"}, nil, []string{"s/*.xml", "a.xml"}},
	} {
		if got := missing(tt.patterns, tt.found); !slices.Equal(got, tt.want) {
			t.Errorf("missing(%q, %q) = %q", tt.patterns, tt.found, got)
		}
	}
	for pattern, want := range map[string]bool{"**/r.xml": true, "*/r.xml": true, "boxer-report/x.xml": true, "boxer*/x": true, "r/*.xml": false, "r.xml": false} {
		if reaches(pattern, "boxer-report/") != want {
			t.Errorf("reaches(%q) = %v", pattern, !want)
		}
	}
	if got := usual("/w", "/w/a[b]")[len(usualPlaces)]; got != `a\[b\]/junit*.xml` {
		t.Error(got)
	}
}

// faults are the causes that an error joins, sorted.
func faults(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not joined: %v", err)
	}
	var causes []string
	for _, e := range joined.Unwrap() {
		var re *runner.Error
		if !errors.As(e, &re) || re.Fix == "" || re.Reason == "" {
			t.Errorf("not actionable: %v", e)
			continue
		}
		causes = append(causes, string(re.Cause))
	}
	slices.Sort(causes)
	return causes
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"nothing wrong", func(*Options) {}, ""},
		{"no command", func(o *Options) { o.Command = nil }, "NO_COMMAND"},
		{"a blank command", func(o *Options) { o.Command = []string{" "} }, "NO_COMMAND"},
		{"count 0", func(o *Options) { o.Count = 0 }, "BAD_COUNT"},
		{"count -1", func(o *Options) { o.Count = -1 }, "BAD_COUNT"},
		{"count 1000000", func(o *Options) { o.Count = 1000000 }, "BAD_COUNT"},
		{"node 3 of 2", func(o *Options) { o.Node = Node{3, 2} }, "BAD_NODE"},
		{"node 0 of 2", func(o *Options) { o.Node = Node{0, 2} }, "BAD_NODE"},
		{"a negative time limit", func(o *Options) { o.Timeout = -1 }, "BAD_CHOICE"},
		{"choices", func(o *Options) { o.Worktree, o.AllowEmpty, o.Reruns, o.Mode = "x", "x", "x", "x" }, "BAD_CHOICE BAD_CHOICE BAD_CHOICE BAD_CHOICE"},
		{"a test list", func(o *Options) { o.Command = []string{"jest", "<tests>"} }, "NO_TEST_LIST"},
		{"a test list in a file", func(o *Options) { o.Command = []string{"jest", "--f={tests-file}"} }, "NO_TEST_LIST"},
		{"a shell's own tests", func(o *Options) { o.Command = []string{"sh", "-c", "echo ${tests}"} }, ""},
		{"somebody's own placeholder", func(o *Options) { o.Command = []string{"x", "<foo>"} }, ""},
		{"outside", func(o *Options) {
			o.JUnit = []string{"../r.xml", "/etc/r.xml", "a/../../r.xml"}
			o.Artifacts = []string{".."}
		}, "OUTSIDE_WORKTREE OUTSIDE_WORKTREE OUTSIDE_WORKTREE OUTSIDE_WORKTREE"},
		{"two dots in a name", func(o *Options) { o.JUnit = []string{"a..b/r.xml"} }, ""},
		{"bad patterns", func(o *Options) { o.JUnit = []string{"a[.xml", "", "{a,b"} }, "BAD_PATTERN BAD_PATTERN BAD_PATTERN"},
		{"relative folders", func(o *Options) { o.Dir, o.ReportDir = "x", "y" }, "BAD_PATH BAD_PATH"},
		{"one report path for all", func(o *Options) { o.Worktree = runner.Live; o.JUnit = []string{"r.xml", "r-<i>.xml", "<n>.xml"} }, "SAME_REPORT_PATH SAME_REPORT_PATH"},
		{"one report path for one", func(o *Options) { o.Worktree, o.Count = runner.Live, 1; o.JUnit = []string{"r.xml"} }, ""},
		{"own report paths", func(o *Options) { o.Worktree = runner.Live; o.JUnit = []string{"{i}/r.xml", "<child>.xml"} }, ""},
		{"all at once", func(o *Options) { o.Command, o.Count, o.JUnit = nil, 0, []string{"../x"} }, "BAD_COUNT NO_COMMAND OUTSIDE_WORKTREE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Count: 2, Command: []string{"true"}, Base: t.TempDir()}
			tt.change(&o)
			if got := strings.Join(faults(t, o.Validate()), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheFixOfASharedReportPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"r.xml": "r-<i>.xml", "reports/**/*.xml": "reports/**/*-<i>.xml", "out": "out-<i>", "reports/": "reports/**/*-<i>.xml",
		"reports/**": "reports/**/*-<i>.xml", "reports/*": "reports/*-<i>.xml",
	} {
		if got := withIndex(in); got != want || !differs(got) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestReportFolderIsChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, o *Options)
		ok   bool
	}{
		{"absent", func(*testing.T, *Options) {}, true},
		{"absent, with its parents", func(t *testing.T, o *Options) { o.ReportDir = filepath.Join(o.Base, "a/b/node-2") }, true},
		{"empty", func(t *testing.T, o *Options) { mkdir(t, o.ReportDir) }, true},
		{"of an earlier run", func(t *testing.T, o *Options) {
			put(t, o.ReportDir, ".gitignore", "*\n")
			put(t, o.ReportDir, "junit.xml", "x")
		}, true},
		{"of other nodes", func(t *testing.T, o *Options) { put(t, o.ReportDir, "node-2/junit.xml", "x") }, true},
		{"a folder of the user's", func(t *testing.T, o *Options) { put(t, o.ReportDir, "index.html", "x") }, false},
		{"a project", func(t *testing.T, o *Options) { put(t, o.ReportDir, ".gitignore", "node_modules\n") }, false},
		{"a file", func(t *testing.T, o *Options) { put(t, o.Base, "boxer-report", "x") }, false},
		{"a symlink", func(t *testing.T, o *Options) { symlink(t, t.TempDir(), o.ReportDir) }, false},
		{"below a symlink", func(t *testing.T, o *Options) {
			symlink(t, t.TempDir(), o.ReportDir)
			o.ReportDir = filepath.Join(o.ReportDir, "node-2")
		}, false},
		{"a pipe", func(t *testing.T, o *Options) {
			if err := syscall.Mkfifo(o.ReportDir, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Count: 1, Command: []string{"true"}, Base: t.TempDir()}
			o.ReportDir = filepath.Join(o.Base, "boxer-report")
			tt.make(t, &o)
			before := tree(t, o.Base)
			err := o.Validate()
			if (err == nil) != tt.ok {
				t.Errorf("error: %v", err)
			}
			if after := tree(t, o.Base); after != before {
				t.Errorf("looking changed the folder:\n%s\n%s", before, after)
			}
			if err != nil {
				faults(t, err)
			}
		})
	}
}

func TestReportFolderOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	o := Options{Base: t.TempDir()}.filled()
	for _, name := range []string{".gitignore", "junit.xml", "index.html", "result.json", "flaky.json", "shard-1.log", "shard-12/a/b.xml", ".boxer-123.tmp", ".shard-1.status"} {
		put(t, o.ReportDir, name, "*\n")
	}
	outside := t.TempDir()
	put(t, outside, "precious", "x")
	symlink(t, outside, filepath.Join(o.ReportDir, "shard-3"))
	for _, name := range []string{"timings.json", "notes.txt", "shard-x", "node-2/junit.xml"} {
		put(t, o.ReportDir, name, "keep")
	}
	d, err := openReportDir(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if got, want := tree(t, o.ReportDir), ".gitignore node-2/junit.xml notes.txt shard-x timings.json"; got != want {
		t.Errorf("left: %s\nwant: %s", got, want)
	}
	contents(t, outside, "precious")
	if _, err := openReportDir(o); runner.CauseOf(err) != runner.IsBusy {
		t.Errorf("a second run was let in: %v", err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(filepath.Join(dir, name)))
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// tree is all files below the folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, rel)
		}
		return err
	})
	return strings.Join(all, " ")
}

func TestHints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "package.json", `{"scripts": {"test": "tsc && node --test", "e2e": "npx playwright test"}}`)
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{[]string{"npm", "test"}, "node writes"},
		{[]string{"npm", "run", "e2e"}, "playwright writes"},
		{[]string{"sh", "-c", "cd web && npx jest --ci"}, "jest writes"},
		{[]string{"node_modules/.bin/vitest"}, "vitest writes"},
		{[]string{"python", "-m", "pytest"}, "pytest writes"},
		{[]string{"go", "test", "./..."}, "go test writes"},
		{[]string{"go", "run", "."}, "most test runners"},
		{[]string{"test", "go"}, "most test runners"},
		{[]string{"cargo", "nextest", "run"}, "cargo nextest writes"},
		{[]string{"./run-tests"}, "most test runners"},
		{[]string{"yarn", "unknown"}, "most test runners"},
	} {
		if got := reporterHint(tt.command, dir); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %s", tt.command, got)
		}
	}
	if got := reporterHint([]string{"npm", "test"}, t.TempDir()); got != anyReporter {
		t.Errorf("without a package.json: %s", got)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	took := func(all ...int) []Shard {
		var shards []Shard
		for i, s := range all {
			shards = append(shards, Shard{Number: i + 1, Started: time.Now(), Wall: time.Duration(s) * time.Second})
		}
		return shards
	}
	for _, tt := range []struct {
		shards []Shard
		cores  int
		fork   time.Duration
		want   string
	}{
		{took(10), 2, 0, ""},
		{took(0, 0), 2, 0, ""},
		{append(took(10), Shard{Number: 2}), 2, 0, ""},
		{took(10, 10, 11, 10), 2, 0, "4 children on 2 cores: more cores would help, more children will not"},
		{took(10, 10), 8, 0, "2 children on 8 cores, evenly split: more children would help"},
		{took(30, 5, 5, 5), 2, 0, "shard 1 took 30.0 s, the mean is 11.2 s: a more even split would help, more children will not"},
		{took(1, 1), 2, time.Minute, "forking took longer than the longest shard (1.0 s): fewer children would help"},
	} {
		if got := bound(tt.shards, tt.cores, tt.fork); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	ids := func(from, to uint64) (all []uint64) {
		for i := from; i < to; i++ {
			all = append(all, i)
		}
		return all
	}
	file := []string{"a.js"}
	for _, tt := range []struct {
		name   string
		sets   [][]uint64
		files  []string
		closed bool
		line   string
		notes  string
	}{
		{"each once", [][]uint64{ids(0, 100), ids(100, 1284)}, file, true, "2 shards · 1,284 tests · each ran once", ""},
		{"one shard", [][]uint64{ids(0, 1)}, file, true, "1 shard · 1 test · each ran once", ""},
		{"an empty shard", [][]uint64{ids(0, 2), nil, nil}, file, true, "3 shards · 2 tests · each ran once", ""},
		{"equal sets that name files", [][]uint64{ids(0, 2), ids(0, 2), ids(5, 7)}, file, false,
			"3 shards · 6 tests · shards 1 and 2 ran the same 2 tests: the command ignores the shard index", ""},
		{"equal sets of ten", [][]uint64{ids(0, 10), ids(0, 10), ids(0, 10)}, nil, false,
			"3 shards · 30 tests · shards 1, 2 and 3 ran the same 10 tests: the command ignores the shard index", ""},
		{"equal sets of nine without files", [][]uint64{ids(0, 9), ids(0, 9)}, nil, true,
			"2 shards · 18 tests · some ran more than once", "shards 1 and 2 ran tests of the same names (9)"},
		{"a set-up in each shard", [][]uint64{ids(0, 5), append(ids(0, 2), ids(10, 20)...)}, file, true,
			"2 shards · 17 tests · some ran more than once", "2 tests ran in every shard"},
	} {
		var rep report.Result
		var shards []Shard
		for i, set := range tt.sets {
			totals := report.Totals{Tests: len(set)}
			rep.Shards = append(rep.Shards, report.Shard{Number: i + 1, IDs: set, Files: tt.files, Totals: totals, Checked: true})
			shards = append(shards, Shard{Number: i + 1, State: Passed, Totals: totals, Checked: true})
		}
		l := balance(shards, rep, true)
		if l.Closed != tt.closed || l.Line != tt.line || strings.Join(l.Notes, "; ") != tt.notes {
			t.Errorf("%s: closed %v, %s; notes %q", tt.name, l.Closed, l.Line, l.Notes)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Error(got)
		}
	}
	for d, want := range map[time.Duration]string{1234 * time.Millisecond: "1.2 s", 61 * time.Second: "1m1s"} {
		if got := seconds(d); got != want {
			t.Error(got)
		}
	}
	for s, want := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", 63: "signal 63", 0: "signal 0", -1: "signal -1"} {
		if got := signalName(s); got != want {
			t.Error(got)
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	a := attempt{number: 2, collected: collected{files: []string{"web/out/shot.png", "top.png"}}}
	find := a.artifact(Options{Base: "/w/app", Dir: "/w/app/web", Scope: runner.Scope{Worktree: "/w"}})
	for path, want := range map[string]string{
		"out/shot.png": "shard-2/web/out/shot.png", "web/out/shot.png": "shard-2/web/out/shot.png",
		"app/top.png": "shard-2/top.png", "/w/app/web/out/shot.png": "shard-2/web/out/shot.png", "./out/../out/shot.png": "shard-2/web/out/shot.png",
		"/etc/top.png": "", "../../etc/passwd": "", "nothing.png": "",
	} {
		if got := find(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
