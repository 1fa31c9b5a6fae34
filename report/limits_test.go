package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fileFrom writes a big report without holding it.
func fileFrom(t testing.TB, write func(w io.StringWriter)) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "big.xml")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return File{Path: path, Name: "big.xml"}
}

func repeat(w io.StringWriter, s string, bytes int) {
	block := strings.Repeat(s, max(64<<10/len(s), 1))
	for n := 0; n < bytes; n += len(block) {
		w.WriteString(block)
	}
}

// What is no sensible report must cost little. Not parallel: the heap is shared.
func TestBombs(t *testing.T) {
	for _, row := range []struct {
		name  string
		write func(w io.StringWriter)
		kind  Kind // "" if it is read
	}{
		{"depth", func(w io.StringWriter) { repeat(w, "<testsuite>", 4<<20) }, TooDeep},
		{"output", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><system-out>`)
			repeat(w, "a line of output\n", 4<<20)
			w.WriteString(`</system-out></testcase></testsuite>`)
		}, ""},
		{"CDATA of brackets", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><failure><![CDATA[`)
			repeat(w, "]] > ", 1<<20)
			w.WriteString(`]]></failure></testcase></testsuite>`)
		}, ""},
		{"attribute", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase classname="`)
			repeat(w, "n", 4<<20)
			w.WriteString(`" unknown="`)
			repeat(w, "v", 4<<20)
			w.WriteString(`"/></testsuite>`)
		}, ""},
		{"tag name", func(w io.StringWriter) {
			w.WriteString(`<testsuite><`)
			repeat(w, "n", 4<<20)
		}, Malformed},
		{"comment", func(w io.StringWriter) {
			w.WriteString(`<testsuite><!--`)
			repeat(w, "- ", 4<<20)
			w.WriteString(`--><testcase name="c"/></testsuite>`)
		}, ""},
		{"entities", func(w io.StringWriter) {
			w.WriteString(`<!DOCTYPE t [`)
			repeat(w, `<!ENTITY a "&b;&b;&b;&b;">`, 4<<20)
		}, Doctype},
		{"terminal sequences without an end", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><system-out>`)
			repeat(w, "\x1b]", 1<<20)
			w.WriteString(`</system-out></testcase></testsuite>`)
		}, ""},
		{"elements in one case", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c">`)
			repeat(w, "<rerunError/>", 2<<20)
			w.WriteString(`</testcase></testsuite>`)
		}, TooLarge},
		{"suites", func(w io.StringWriter) {
			w.WriteString(`<testsuite>`)
			repeat(w, "<testsuite/>", 3<<20)
			w.WriteString(`</testsuite>`)
		}, TooLarge},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := attemptOf(t, 0)
			a.Reports = []File{fileFrom(t, row.write)}
			var r Result
			peak := peakHeap(func() { _, r = mergeFor(t, Options{}, a) })
			if peak > 32<<20 {
				t.Errorf("held %d MiB", peak>>20)
			}
			switch {
			case row.kind == "" && (len(r.Unread) > 0 || r.Tests != 1):
				t.Errorf("read %+v, errors %v, want one case", r.Totals, r.Unread)
			case row.kind != "" && (len(r.Unread) != 1 || r.Unread[0].Kind != row.kind || r.Errors != 1):
				t.Errorf("errors %v, want %s", r.Unread, row.kind)
			}
		})
	}
}

func TestTooManyBytes(t *testing.T) {
	f := file(t, passing)
	if err := os.Truncate(f.Path, maxBytes+1); err != nil { // a hole, so it costs no disk
		t.Fatal(err)
	}
	_, r := mergeFor(t, Options{}, Attempt{Shard: 1, Of: 1, Attempt: 1, Configured: true, Reports: []File{f}})
	if len(r.Unread) != 1 || r.Unread[0].Kind != TooLarge || r.Unread[0].Line != 1 {
		t.Errorf("errors %v", r.Unread)
	}
}

// The counts that take long to reach are set.
func TestTooMany(t *testing.T) {
	for name, set := range map[string]func(*inspector){
		"cases":    func(i *inspector) { i.cases = maxCases },
		"elements": func(i *inspector) { i.elements = maxElements - 1 },
	} {
		i := &inspector{scanner: newScanner(strings.NewReader(passing)), source: &source{}, names: newSuiteNames(nil)}
		set(i)
		if err, ok := i.run().(*ReadError); !ok || err.Kind != TooLarge || !strings.Contains(err.Reason, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Opening a pipe would wait for a writer that never comes.
func TestNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Kind{dir: Unreadable, pipe: Unreadable, filepath.Join(dir, "gone"): Missing} {
		_, r := mergeFor(t, Options{}, Attempt{Shard: 1, Of: 1, Attempt: 1, Configured: true, Reports: []File{{Path: path, Name: "r.xml"}}})
		if len(r.Unread) != 1 || r.Unread[0].Kind != want || !r.Incomplete {
			t.Errorf("errors %v, want %s", r.Unread, want)
		}
	}
}

// A suite of many texts goes to go-junit in pieces, which must not show.
func TestPieces(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 6<<10)
	a := attemptOf(t, 0)
	a.Reports = []File{fileFrom(t, func(w io.StringWriter) {
		w.WriteString(`<testsuite name="s"><testsuite name="in"><properties><property name="k" value="v"/></properties>`)
		for i := range 5 {
			fmt.Fprintf(w.(io.Writer), `<testcase name="%d"><system-out>%s</system-out></testcase>`, i, text)
		}
		w.WriteString(`<system-err>end</system-err></testsuite><testcase name="last"/></testsuite>`)
	})}
	m, _ := mergeFor(t, Options{}, a)
	if got := runsOf(m); got != "last:passed 0:passed 1:passed 2:passed 3:passed 4:passed" || len(m.Suites) != 2 {
		t.Errorf("got %q in %d suites", got, len(m.Suites))
	}
	in := m.Suites[1]
	if in.Name != "s > in" || in.Err[0] != "end" || propsOf(in.Props)["k"] != "v" || in.Cases[4].Out[0] != text {
		t.Errorf("suite %q, err %q, %d bytes of output", in.Name, in.Err, len(in.Cases[4].Out[0]))
	}
}

// go-junit needs several kilobytes for a case, so it must not see a big suite as a whole.
func TestManyCases(t *testing.T) {
	a := attemptOf(t, 0)
	a.Reports = []File{{Path: writeBig(t, 1, 10_000), Name: "big.xml"}}
	peak := peakHeap(func() { Merge([]Attempt{a}, Options{}, filepath.Join(t.TempDir(), "merged.xml")) })
	if peak -= min(peak, heapReserve); peak > 26<<20 { // some 17 MiB on a quiet machine; a busy one collects later
		t.Errorf("held %d MiB", peak>>20)
	}
}

// Above the size that GitLab reads, outputs go: first of what passed, then the middles of the others.
func TestSqueeze(t *testing.T) {
	const limit = 600_000
	text := strings.Repeat("0123456789abcde\n", 5<<10)
	report := func(passed, failed int) Attempt {
		a := attemptOf(t, 1)
		a.Reports = []File{fileFrom(t, func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s">`)
			for i := range passed + failed {
				fmt.Fprintf(w.(io.Writer), `<testcase name="%d"><system-out>%s</system-out><system-err>%[2]s</system-err>`, i, text)
				if i >= passed {
					w.WriteString(`<failure message="no"/>`)
				}
				w.WriteString(`</testcase>`)
			}
			w.WriteString(`</testsuite>`)
		})}
		return a
	}
	for _, row := range []struct {
		passed, failed          int
		passedBytes, failedUpTo int
		warns                   string
	}{
		{1, 1, len(text), len(text), ""},
		{3, 2, 0, len(text), "passed cases were left out"},
		{1, 4, 0, squeezedOutput, "passed cases, and the middle of"},
	} {
		t.Run(fmt.Sprint(row.passed, "+", row.failed), func(t *testing.T) {
			visits := 0
			m, r := mergeFor(t, Options{limit: limit, Visit: func(Case) { visits++ }}, report(row.passed, row.failed))
			first, last := m.Suites[0].Cases[0], m.Suites[0].Cases[row.passed+row.failed-1]
			if got := len(strings.Join(first.Out, "")); got != row.passedBytes {
				t.Errorf("the output of a passed case has %d bytes, want %d", got, row.passedBytes)
			}
			for _, text := range []string{last.Out[0], last.Err[0]} {
				if got := len(text); got > row.failedUpTo || got < row.failedUpTo-100 {
					t.Errorf("an output of a failed case has %d bytes, want %d", got, row.failedUpTo)
				}
			}
			if got := strings.Join(r.Warnings, ""); !strings.Contains(got, row.warns) || (got == "") != (row.warns == "") {
				t.Errorf("warnings %q, want %q", got, row.warns)
			}
			if visits != r.Tests {
				t.Errorf("visited %d cases of %d", visits, r.Tests)
			}
		})
	}
}

// What helps a little is done even if it is not enough.
func TestSqueezeIsNotEnough(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 2000)
	m, r := mergeFor(t, Options{limit: 10_000}, attemptOf(t, 1, `<testsuite><testcase name="a"><system-out>`+text+`</system-out></testcase>`+
		`<testcase name="b"><failure>`+text+`</failure></testcase></testsuite>`))
	if len(m.Suites[0].Cases[0].Out) > 0 || m.Suites[0].Cases[1].result().Body != text {
		t.Error("the output of the passed case stayed, or the failure was cut")
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "over 10000") {
		t.Errorf("warnings %q", r.Warnings)
	}
}
