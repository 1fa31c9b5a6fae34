package report

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A report that stands for itself says nothing of how a command ended, so nothing is concluded from an exit code.
func TestMergedKnowsNoExitCode(t *testing.T) {
	both := `<testsuite name="s"><testcase name="a"><failure message="no"/></testcase><testcase name="a"/></testsuite>`
	for _, exit := range []int{0, 1} {
		a := attemptOf(t, exit, both)
		a.Merged = true
		m, r := mergeFor(t, Options{}, a)
		checkShown(t, m, "s/a failed no", "s/a [2] passed")
		if len(r.Warnings) > 0 || len(r.ErrorCases) > 0 || len(m.Suites[0].Props) > 0 {
			t.Errorf("exit %d: %+v, properties %+v", exit, r, m.Suites[0].Props)
		}
		a = attemptOf(t, exit, passing)
		a.Merged = true
		if _, r := mergeFor(t, Options{}, a); len(r.ErrorCases) > 0 || r.Passed != 1 {
			t.Errorf("exit %d: %+v", exit, r)
		}
	}
}

// Cases keep the shard that ran them, and what is wrong with the report is told of its title.
func TestMergedKeepsShardsAndTitles(t *testing.T) {
	text := strings.ReplaceAll(`<testsuite name="s"><properties><property name="boxer.shard" value="7/8"/><property name="boxer.attempt" value="2"/>`+
		`</properties><testcase name="a"/><testcase name="b"/></testsuite>`, "\n", "")
	a := attemptOf(t, 0, text)
	a.Merged, a.Title = true, "node 4/4"
	var seen []Case
	mergeFor(t, Options{Visit: func(c Case) { seen = append(seen, c) }}, a)
	if len(seen) != 2 || seen[0].Shard != 7 || seen[0].Attempt != 2 {
		t.Errorf("%+v", seen)
	}
	a.Reports, a.Missing = nil, []string{"junit.xml"}
	m, r := mergeFor(t, Options{}, a)
	checkShown(t, m, "boxer/node 4/4 error no report (junit.xml is missing)")
	if e := r.ErrorCases[0]; e.Shard != 0 || len(m.Suites[0].Props) > 0 || !r.Incomplete {
		t.Errorf("%+v, properties %+v", e, m.Suites[0].Props)
	}
}

func TestSkip(t *testing.T) {
	skip := func(c Case) bool { return c.Name == "a" }
	a := attemptOf(t, 0, suiteOf("a:failed b:passed"), suiteOf("a:failed"))
	a.Merged, a.Skip = true, skip
	m, r := mergeFor(t, Options{}, a)
	checkShown(t, m, "s/b passed")
	if r.Bad() != 0 || !slices.Equal([]string{r.Shards[0].State}, []string{"passed"}) {
		t.Errorf("%+v", r)
	}
	a.Merged = false // the rules apply to what a shard wrote, whatever the caller thinks
	if _, r := mergeFor(t, Options{}, a); r.Bad() != 2 {
		t.Errorf("%+v", r.Totals)
	}
}

// A merge that is told to stop does so in the middle of a file, and leaves what was there before.
func TestStop(t *testing.T) {
	stop := make(chan struct{})
	a := Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: 1, Configured: true, Reports: []File{{Path: writeBig(t, 100, 1000), Name: "big.xml"}}}
	seen := 0
	dir := t.TempDir()
	to := filepath.Join(dir, "merged.xml")
	if err := os.WriteFile(to, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Merge([]Attempt{a}, Options{Stop: stop, Visit: func(Case) {
		if seen++; seen == 10 {
			close(stop)
		}
	}}, to)
	if !errors.Is(err, ErrStopped) || seen > 10_000 {
		t.Errorf("error %v after %d cases", err, seen)
	}
	if b, err := os.ReadFile(to); string(b) != "before" || len(entries(t, dir)) != 1 {
		t.Errorf("%q, %v, %q", b, err, entries(t, dir))
	}
}
