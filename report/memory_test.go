package report

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// What is big is read, cut or refused by a process that needs less than 256 MiB, its program included.
func TestMemoryOfTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("writes files of 200 MB")
	}
	const big = 200_000_000
	for _, row := range []struct {
		name  string
		write func(w io.StringWriter)
		kind  Kind // "" if it is read
		tests int
	}{
		{"one text", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><system-out>`)
			repeat(w, "a line of output\n", big)
			w.WriteString(`</system-out></testcase></testsuite>`)
		}, "", 1},
		{"one message", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><failure message="`)
			repeat(w, "a long word ", big)
			w.WriteString(`"/></testcase></testsuite>`)
		}, "", 1},
		{"one suite of long outputs", func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s">`)
			for i := range big / 50_000 {
				w.WriteString(fmt.Sprintf(`<testcase name="%d"><system-out>`, i))
				repeat(w, "a line of output\n", 50_000)
				w.WriteString(`</system-out></testcase>`)
			}
			w.WriteString(`</testsuite>`)
		}, "", big / 50_000},
		{"one suite of many cases", func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s">`)
			for i := range 300_000 {
				w.WriteString(fmt.Sprintf(`<testcase classname="harbour.dock" name="moors ship %d" time="0.25" file="dock_test.go"/>`, i))
			}
			w.WriteString(`</testsuite>`)
		}, "", 300_000},
		{"depth", func(w io.StringWriter) { repeat(w, "<testsuite>", big) }, TooDeep, 1},
		{"entities", func(w io.StringWriter) {
			w.WriteString(`<!DOCTYPE t [`)
			repeat(w, `<!ENTITY a "&b;&b;&b;&b;">`, big)
		}, Doctype, 1},
		{"references", func(w io.StringWriter) {
			w.WriteString(`<testsuite><testcase name="c"><failure>`)
			repeat(w, "&lt;&#97;", big/4)
			w.WriteString(`</failure></testcase></testsuite>`)
		}, "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := fileFrom(t, row.write)
			r, _ := measuredMode(t, "merge", filepath.Join(t.TempDir(), "merged.xml"), f.Path)
			t.Logf("%d MiB", r.Peak>>20)
			if r.Peak == 0 || r.Peak > 256<<20 {
				t.Errorf("the process had %d MiB", r.Peak>>20)
			}
			if r.Tests != row.tests || (row.kind != "") != (len(r.Unread) == 1) || row.kind != "" && r.Unread[0] != row.kind {
				t.Errorf("%d tests, unread %v", r.Tests, r.Unread)
			}
		})
	}
}

// A million cases in a thousand suites are merged by a process of 64 MB, its program included, whether they stand in one
// file or in many.
func TestMemoryOfAMillionCases(t *testing.T) {
	if testing.Short() {
		t.Skip("merges a million cases twice")
	}
	for name, files := range map[string][]string{
		"one file":   {writeBig(t, 1000, 1000)},
		"many files": writeMany(t, 1000, 1000),
	} {
		r, _ := measuredMode(t, "merge", append([]string{filepath.Join(t.TempDir(), "merged.xml")}, files...)...)
		t.Logf("%s: %d MB", name, r.Peak/1e6)
		if r.Tests != 1_000_000 || r.Failures != 10_000 || r.Peak == 0 || r.Peak > 64e6 {
			t.Errorf("%s: %d tests, %d failures, %d MB", name, r.Tests, r.Failures, r.Peak/1e6)
		}
	}
}
