package ci

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// gitlab-ci-local sets GITLAB_CI=false, so it is the value that counts.
func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  map[string]string
		want System
	}{
		{nil, None},
		{map[string]string{"GITHUB_ACTIONS": "true"}, GitHub},
		{map[string]string{"GITLAB_CI": "true"}, GitLab},
		{map[string]string{"GITHUB_ACTIONS": "false", "GITLAB_CI": "false"}, None},
		{map[string]string{"GITHUB_ACTIONS": "", "GITLAB_CI": "true"}, GitLab},
		{map[string]string{"GITHUB_ACTIONS": "1"}, None},
	} {
		if got := Detect(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.env, got, tt.want)
		}
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	if got, want := data("100%\r\n::x,y%0A"), "100%25%0D%0A::x,y%250A"; got != want {
		t.Errorf("data: %q, want %q", got, want)
	}
	if got, want := property("100%\r\na:b,c"), "100%25%0D%0Aa%3Ab%2Cc"; got != want {
		t.Errorf("property: %q, want %q", got, want)
	}
	c := Case{Name: "t: a, b", Message: "50% off\nline 2", File: "a,b.js", Line: 7}
	if got, want := annotation(c), "::error file=a%2Cb.js,line=7,title=t%3A a%2C b::50%25 off%0Aline 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func failures(n, files int) Run {
	r := Run{ExitCode: 1, Totals: Totals{Tests: n, Failures: n}, Shards: []Shard{{Checked: true, Totals: Totals{Tests: n, Failures: n}}}, Report: "boxer-report"}
	for i := range n {
		r.Failed = append(r.Failed, Case{Shard: 1, Name: fmt.Sprint("t", i), Message: "m", File: fmt.Sprintf("f%d.js", i%files), Line: i + 1})
	}
	return r
}

func TestAnnotationsAreFew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failures, files, troubles int
		want                      int
		more                      string
	}{
		{1, 1, 0, 2, ""},
		{100, 100, 0, MaxErrors, "+92 more"},
		{100, 3, 0, 4, "+97 more"},
		{8, 8, 0, MaxErrors, ""},
		{9, 9, 0, MaxErrors, "+1 more"},
		{100, 100, 20, MaxErrors, "+112 more"},
		{0, 1, 20, MaxErrors, "+12 more"},
		{2, 2, 20, MaxErrors, "+14 more"},
	} {
		r := failures(tt.failures, tt.files)
		for i := range tt.troubles {
			r.Troubles = append(r.Troubles, Case{Shard: i + 1, Name: fmt.Sprintf("shard %d/20", i+1), Message: "no report"})
			r.Totals.Failures++
			r.Totals.Tests++
		}
		got := strings.SplitAfter(Annotations(r), "\n")
		got = got[:len(got)-1]
		if len(got) != tt.want || !strings.Contains(got[0], "title=boxer::") {
			t.Errorf("%+v: %d annotations, the first %q", tt, len(got), got[0])
		}
		if more := regexp.MustCompile(`\+\d+ more`).FindString(got[0]); more != tt.more {
			t.Errorf("%+v: %q", tt, got[0])
		}
		if tt.troubles > 0 && tt.failures > maxTroubles && !strings.Contains(got[maxTroubles+1], "title=t0::") {
			t.Errorf("troubles of shards left no room for a failed test: %q", got)
		}
	}
}

func TestAnnotationsAreCutAsTheRunnerWould(t *testing.T) {
	t.Parallel()
	r := failures(1, 1)
	r.Failed[0].Message, r.Failed[0].Name = strings.Repeat("é%", 5000), strings.Repeat("n", 5000)
	line := strings.SplitAfter(Annotations(r), "\n")[1]
	properties, message, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
	message = strings.NewReplacer("%25", "%", "\n", "").Replace(message)
	if n := utf8.RuneCountInString(message); n != maxMessage || !strings.HasSuffix(message, "…") {
		t.Errorf("a message of %d characters", n)
	}
	if len(properties) > 300 {
		t.Errorf("a title of %d bytes", len(properties))
	}
}

// What the runner would take for a command, in whatever place a test writes it.
var command = regexp.MustCompile(`(?m)^\s*::|##\[|##vso\[`)

func TestNothingThatATestWritesIsACommand(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(Annotations(failing())) {
		rest := strings.TrimPrefix(line, "::error ")
		if rest == line || command.MatchString(rest) || strings.ContainsAny(rest, "\r\x1b\u202e") {
			t.Errorf("%q", line)
		}
	}
	for _, s := range []System{GitHub, GitLab} {
		open := s.Open("output", hostile, time.Unix(1, 0))
		if strings.Count(open, "\n") != 1 || strings.Contains(open, "##[") || strings.Contains(open, "\x1b[31m") {
			t.Errorf("%s: %q", s, open)
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0)
	if got, want := GitLab.Open("shard 2/4: ä", "the title", at), "\x1b[0Ksection_start:1700000000:boxer_shard_2_4[collapsed=true]\r\x1b[0Kthe title\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := GitLab.Close("shard 2/4: ä", at), "\x1b[0Ksection_end:1700000000:boxer_shard_2_4\r\x1b[0K\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := GitHub.Open("x", "50%", at) + GitHub.Close("x", at); got != "::group::50%25\n::endgroup::\n" {
		t.Errorf("%q", got)
	}
	if before, behind := GitLab.Fence("t"); before+behind+None.Open("x", "y", at)+None.Close("x", at) != "" {
		t.Error("GitLab has no fence, and no CI has no sections")
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ message, body, want string }{
		{"", "", "failed"},
		{"m", "", "m"},
		{"", "b\n", "b"},
		{"m", "Error: m\n  at x", "Error: m\n  at x"},
		{"f:1: cut, exit code 0", "f:1: cut\nlast words\n", "f:1: cut, exit code 0\nlast words"},
		{"f:1: cut, exit code 0", "f:1: cut", "f:1: cut, exit code 0"},
		{"m", "b", "m\nb"},
	} {
		if got := (Case{Message: tt.message, Body: tt.body}).said(); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.message, tt.body, got, tt.want)
		}
	}
}

func TestMasks(t *testing.T) {
	t.Parallel()
	got := Masks([]string{"line one\nline two\n", "line two", "100%", " ", "win\r\ndows"})
	if want := "::add-mask::line one\n::add-mask::line two\n::add-mask::100%25\n::add-mask::win\n::add-mask::dows\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// outputsOf reads the file as the runner does: a line that names a delimiter, the lines up to it, all whole.
func outputsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSuffix(lines[i], "\n")
		if line == "" {
			continue
		}
		name, delimiter, ok := strings.Cut(line, "<<")
		if equals := strings.Index(line, "="); equals >= 0 && (!ok || equals < len(name)) {
			out[line[:equals]] = line[equals+1:]
			continue
		}
		var value []string
		for i++; i < len(lines) && strings.TrimSuffix(lines[i], "\n") != delimiter; i++ {
			value = append(value, lines[i])
		}
		if i == len(lines) || !strings.HasSuffix(lines[i], "\n") {
			t.Fatalf("the delimiter of %s is missing:\n%s", name, text)
		}
		out[name] = strings.TrimSuffix(strings.Join(value, ""), "\n")
	}
	return out
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(file, []byte("mine=1"), 0o600); err != nil { // without a line end
		t.Fatal(err)
	}
	if err := WriteOutputs(file, failing()); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(file)
	got := outputsOf(t, string(b))
	for name, want := range map[string]string{
		"mine": "1", "report": "boxer-report", "html": "boxer-report/index.html", "json": "boxer-report/result.json", "tests": "1284",
		"failures": "14", "flaky": "1", "exit-code": "1", "efficiency": "0.87",
		"timings-complete": "false",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q\n%s", name, got[name], want, b)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d outputs: %q", len(got), got)
	}
	if WriteExitCode(file, 125) != nil {
		t.Error("not written")
	}
	if b, _ = os.ReadFile(file); outputsOf(t, string(b))["exit-code"] != "125" {
		t.Errorf("%s", b)
	}
}

func TestOutputIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value string }{
		{"a=b", "x"}, {"a\nb", "x"}, {"", "x"}, {"a<<b", "x"}, {"a", "x\nEND\ny"}, {"a", "x\x00"}, {"a", "x\ry"}, {"a", "\xff"},
	} {
		if text, err := output(tt.name, tt.value, "END"); err == nil {
			t.Errorf("%q=%q became %q", tt.name, tt.value, text)
		}
	}
}

func TestSummaryIsCutAtARow(t *testing.T) {
	t.Parallel()
	r := failures(1000, 1000)
	r.Totals.Failures = 5000
	for i := range r.Failed {
		r.Failed[i].Body = strings.Repeat("é", 20_000)
	}
	r.Flaky, r.Totals.Flaky = make([]Case, 300), 300
	s := Summary(r, MaxSummary)
	if len(s) > MaxSummary || len(s) < MaxSummary-2*maxBody-lastLineRoom {
		t.Errorf("%d bytes of %d", len(s), MaxSummary)
	}
	shown := strings.Count(s, "<details>")
	if shown != strings.Count(s, "</details>") || strings.Count(s, "<pre>") != strings.Count(s, "</pre>") || !utf8.ValidString(s) {
		t.Error("cut within a row")
	}
	last := strings.TrimSpace(s)
	last = last[strings.LastIndex(last, "\n")+1:]
	if want := fmt.Sprintf("%s more failures, 300 more flaky tests: all in boxer-report", withComma(5000-shown)); last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
}

// With small rows there is no slack: the last line has room of its own.
func TestSummaryKeepsTheLimit(t *testing.T) {
	t.Parallel()
	r := failures(60, 60)
	r.Report = strings.Repeat("a/", 100)
	for limit := 1500; limit < 6_000; limit += 7 {
		if s := Summary(r, limit); len(s) > limit {
			t.Fatalf("%d bytes of %d", len(s), limit)
		}
	}
}

func withComma(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

func TestSummaryLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "summary.md")
	others := strings.Repeat("x", 900<<10)
	if err := os.WriteFile(file, []byte(others), 0o600); err != nil {
		t.Fatal(err)
	}
	r := failures(1000, 1000)
	for i := range r.Failed {
		r.Failed[i].Body = strings.Repeat("y", 1000)
	}
	if err := WriteSummary(file, r); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(file)
	if !strings.HasPrefix(string(b), others+"\n## ") || len(b) > MaxSummary {
		t.Errorf("%d bytes, and behind the others %.20q", len(b), b[len(others):])
	}
	if err := WriteSummary(file, r); err == nil {
		t.Error("no word that there was no room")
	}
	if again, _ := os.ReadFile(file); len(again) != len(b) {
		t.Error("written to a file that is full")
	}
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	good, silent := Shard{Checked: true, Passed: true, Totals: Totals{Tests: 1284}}, Shard{Passed: true}
	bad := Shard{Checked: true, Totals: Totals{Tests: 5, Failures: 2}}
	trouble := []Case{{Shard: 2, Name: "shard 2/2", Message: "no report"}}
	for _, tt := range []struct {
		run  Run
		want string
	}{
		{Run{Shards: []Shard{good}}, "1,284 tests passed"},
		{Run{Shards: []Shard{good, silent}}, "1,284 tests passed, and 1 shard without a report"},
		{Run{Shards: []Shard{silent, silent}, Totals: Totals{Tests: 2}}, "2 shards passed"},
		{Run{ExitCode: 1, Shards: []Shard{good, bad}}, "2 of 1,289 tests failed"},
		{Run{ExitCode: 1, Shards: []Shard{good, {}}, Troubles: trouble}, "shard 2/2 failed: no report"},
		{Run{ExitCode: 1, Shards: []Shard{good, {}}, Troubles: append(trouble, trouble...)}, "shard 2/2 failed: no report (and 1 more shard)"},
		{Run{ExitCode: 1, Shards: []Shard{silent, {}}}, "1 of 2 shards failed"},
		{Run{ExitCode: 4, Shards: []Shard{silent}}, "no test ran"},
		{Run{ExitCode: 6, Shards: []Shard{good, {}}, Troubles: trouble},
			"the ledger does not close: tests or reports are missing or doubled; shard 2/2 failed: no report"},
		{Run{ExitCode: 124, Shards: []Shard{bad}}, "time limit; 2 of 5 tests failed"},
		{Run{ExitCode: 143, Shards: []Shard{good}}, "ended by SIGTERM"},
		{Run{ExitCode: 125}, "boxer or the backend failed"},
	} {
		if got := tt.run.Headline(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.run, got, tt.want)
		}
	}
}
