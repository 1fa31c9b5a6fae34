package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// inOneGo and in parts a suite becomes the same report.
func TestPartsDoNotShow(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 1<<10)
	cases := func(w io.StringWriter, from, to int, inside string) {
		for i := from; i < to; i++ {
			w.WriteString(fmt.Sprintf(`<testcase name="%d" time="0.5">%s<system-out>%s</system-out></testcase>`, i, inside, text))
		}
	}
	for name, write := range map[string]func(w io.StringWriter){
		"plain": func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s" time="7"><properties><property name="k" value="v"/></properties>`)
			cases(w, 0, 30, "")
			w.WriteString(`<system-out>end</system-out></testsuite>`)
		},
		"failures": func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s">`)
			cases(w, 0, 20, `<failure message="no"/>`)
			cases(w, 10, 30, "") // with exit code 0 some of them are reruns
			w.WriteString(`</testsuite><testsuite name="t"><testcase name="after"/></testsuite>`)
		},
		"a suite inside": func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s" time="7">`)
			cases(w, 0, 20, "")
			w.WriteString(`<testsuite name="in">`)
			cases(w, 0, 20, "")
			w.WriteString(`</testsuite>`)
			cases(w, 20, 40, "")
			w.WriteString(`</testsuite>`)
		},
		"cut off": func(w io.StringWriter) {
			w.WriteString(`<testsuite name="s">`)
			cases(w, 0, 30, "")
			w.WriteString(`<testcase name="last"><failure`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := fileFrom(t, write)
			other := fileFrom(t, func(w io.StringWriter) {
				w.WriteString(`<testsuite name="s">`)
				cases(w, 25, 60, "")
				w.WriteString(`</testsuite>`)
			})
			for exit := range 2 {
				first := Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: exit, Configured: true, Reports: []File{file}}
				second := Attempt{Shard: 1, Of: 1, Attempt: 2, Exit: exit, Configured: true, Reports: []File{other}}
				for _, attempts := range [][]Attempt{{first}, {first, second}} {
					whole, wholeResult := mergedWith(t, Options{}, attempts)
					parts, partsResult := mergedWith(t, Options{part: 1, given: 1}, attempts)
					if whole != parts || fmt.Sprint(wholeResult) != fmt.Sprint(partsResult) {
						t.Errorf("exit code %d, %d attempts: %d bytes and %d, %+v and %+v", exit, len(attempts), len(whole), len(parts), wholeResult, partsResult)
					}
				}
			}
		})
	}
}

// mergedWith gives the merged report without the room that was left for totals.
func mergedWith(t *testing.T, o Options, attempts []Attempt) (string, Totals) {
	t.Helper()
	data, r := mergeBytes(t, o, attempts)
	parseMerged(t, data)
	var b strings.Builder
	for line := range bytes.Lines(data) {
		b.Write(append(bytes.TrimRight(line, " \n"), '\n'))
	}
	return b.String(), r.Totals
}

// Properties below the cases of a suite in parts are not lost.
func TestPartsKeepLateProperties(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 10<<10)
	a := attemptOf(t, 0)
	a.Reports = []File{fileFrom(t, func(w io.StringWriter) {
		w.WriteString(`<testsuite name="s"><properties><property name="early" value="1"/></properties>`)
		for i := range 5 {
			w.WriteString(fmt.Sprintf(`<testcase name="%d"><system-out>%s</system-out></testcase>`, i, text))
		}
		w.WriteString(`<properties><property name="late" value="2"/></properties></testsuite>`)
	})}
	m, _ := mergeFor(t, Options{part: 1}, a)
	if props := propsOf(m.Suites[0].Props); props["early"] != "1" || props["boxer.shard"] != "1/1" || len(m.Suites) != 1 || m.Tests != 5 {
		t.Errorf("%v in %d suites", props, len(m.Suites))
	}
	data, _ := mergedWith(t, Options{part: 1}, []Attempt{a})
	if strings.Count(data, `name="late" value="2"`) != 1 || strings.Count(data, `name="early"`) != 1 {
		t.Error("a property is lost or doubled")
	}
}
