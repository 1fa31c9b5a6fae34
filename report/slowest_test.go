package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// timed is a report with a case for each time, in this order.
func timed(file string, times ...float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<testsuite name="suite of %s">`, file)
	for i, s := range times {
		fmt.Fprintf(&b, `<testcase classname="class of %s" name="%d" time="%g" file="%s"/>`, file, i, s, file)
	}
	return b.String() + `</testsuite>`
}

func TestSlowest(t *testing.T) {
	up := make([]float64, 1000)
	for i := range up {
		up[i] = float64(i) / 10
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	for name, times := range map[string][]float64{"rising": up, "falling": down, "few": {0.5, 0, 2}} {
		_, r := mergeFor(t, Options{}, attemptOf(t, 0, timed("a.js", times...)))
		want := slices.Sorted(slices.Values(times))
		slices.Reverse(want)
		want = slices.DeleteFunc(want[:min(len(want), maxSlowest)], func(s float64) bool { return s == 0 })
		var got []float64
		for _, c := range r.Slowest {
			got = append(got, c.Seconds)
			if c.Shard != 1 || c.Suite != "suite of a.js" || c.Classname != "class of a.js" || c.File != "a.js" || times[atoi(t, c.Name)] != c.Seconds {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if len(r.Files) != 1 || r.Files[0].Name != "a.js" || r.Files[0].Tests != len(times) {
			t.Errorf("%s: files %+v", name, r.Files)
		}
	}
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Error(err)
	}
	return n
}

// The tests of a file may lie in several shards, and reports may name no file at all.
func TestFileTimes(t *testing.T) {
	one, two := attemptOf(t, 0, timed("slow.js", 1, 2), timed("quick.js", 0.5)), attemptOf(t, 0, timed("slow.js", 4),
		`<testsuite name="s" file="of-the-suite.js"><testcase name="x" classname="c" time="6"/></testsuite>`,
		`<testsuite name="s"><testcase name="x" classname="the.Class" time="5"/></testsuite>`,
		`<testsuite name="the suite"><testcase name="y" time="3"/></testsuite>`, timed("nothing.js", 0))
	two.Shard = 2
	_, r := mergeFor(t, Options{}, one, two)
	want := []FileTime{{"slow.js", 3, 7}, {"of-the-suite.js", 1, 6}, {"the.Class", 1, 5}, {"the suite", 1, 3}, {"quick.js", 1, 0.5}}
	if !slices.Equal(r.Files, want) {
		t.Errorf("got %v, want %v", r.Files, want)
	}
}

// Names that would fill the memory push out those of quick files, never those of the slowest.
func TestFileTimesAreBounded(t *testing.T) {
	f := newFileTimes()
	f.add(&suite{}, &Case{File: "slowest", Seconds: 1e6})
	for i := range 3000 {
		f.add(&suite{}, &Case{File: fmt.Sprintf("%d%s", i, strings.Repeat("x", maxName-10)), Seconds: float64(i % 7)})
		if f.bytes > maxFileTimeNames {
			t.Fatalf("%d bytes of names", f.bytes)
		}
	}
	f.add(&suite{}, &Case{File: "slowest", Seconds: 1})
	list := f.list()
	if len(list) != maxSlowest || list[0] != (FileTime{"slowest", 2, 1e6 + 1}) || list[1].Seconds != 6 {
		t.Errorf("%d files, first %v", len(list), list[:2])
	}
}

func TestRoll(t *testing.T) {
	attempt := attemptOf(t, 1, suiteOf("a:passed b:failed c:skipped"))
	if _, r := mergeFor(t, Options{}, attempt); r.Roll != nil {
		t.Errorf("nobody asked for %v", r.Roll)
	}
	_, r := mergeFor(t, Options{Roll: true}, attempt)
	var got []string
	for _, c := range r.Roll {
		got = append(got, c.Name+":"+string(c.Status))
	}
	if want := []string{"a:passed", "b:failed", "c:skipped"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var many, long roll
	for range maxRoll + 5 {
		many.add(&Case{Name: "x", Body: "not kept"})
		long.add(&Case{Name: strings.Repeat("x", maxName)})
	}
	if len(many.cases) != maxRoll || many.cases[0].Body != "" || len(long.cases)*maxName > maxRollNames || len(long.cases) == 0 {
		t.Errorf("%d and %d cases", len(many.cases), len(long.cases))
	}
}

// What a listed case wrote and mentions comes with it, that of its earlier runs included.
func TestListedCasesBringTheirOutputs(t *testing.T) {
	found := func(path string) string {
		if strings.HasPrefix(path, "gone") {
			return ""
		}
		return "shard-1/" + path
	}
	first := attemptOf(t, 1, `<testsuite name="s"><testcase name="a"><failure message="no">see a.png</failure><system-out>out [[ATTACHMENT|t.zip]] a.png gone.png</system-out><system-err>err</system-err></testcase>`+
		`<testcase name="b"><failure message="no">b1.png</failure></testcase><testcase name="c"><system-out>c.png</system-out></testcase></testsuite>`)
	second := attemptOf(t, 1, `<testsuite name="s"><testcase name="a"><failure message="still">a2.png</failure></testcase><testcase name="b"><system-out>b2.png</system-out></testcase></testsuite>`)
	second.Attempt = 2
	first.Artifact, second.Artifact = found, found
	_, r := mergeFor(t, Options{}, first, second)
	if len(r.Failed) != 1 || len(r.FlakyCases) != 1 {
		t.Fatalf("failed %v, flaky %v", r.Failed, r.FlakyCases)
	}
	a, b := r.Failed[0], r.FlakyCases[0]
	if want := []string{"shard-1/a.png", "shard-1/t.zip", "shard-1/a2.png"}; !sameSet(a.Attachments, want) || a.Earlier != 1 || a.Message != "still" {
		t.Errorf("failed: %+v", a)
	}
	if want := []string{"shard-1/b1.png", "shard-1/b2.png"}; !sameSet(b.Attachments, want) || b.Earlier != 1 || b.Message != "no" {
		t.Errorf("flaky: %+v", b)
	}
	_, r = mergeFor(t, Options{}, first)
	if a := r.Failed[0]; a.Out != "out [[ATTACHMENT|shard-1/t.zip]] shard-1/a.png gone.png" || a.Err != "err" || a.Earlier != 0 {
		t.Errorf("%+v", a)
	}
	big := attemptOf(t, 1, `<testsuite name="s"><testcase name="a"><failure/><system-out>`+strings.Repeat("x", 1<<20)+`</system-out></testcase></testsuite>`)
	if _, r = mergeFor(t, Options{}, big); len(r.Failed[0].Out) > maxListedText || !strings.Contains(r.Failed[0].Out, "bytes cut") {
		t.Errorf("an output of %d bytes", len(r.Failed[0].Out))
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
