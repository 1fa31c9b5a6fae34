package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestSeconds(t *testing.T) {
	for text, want := range map[string]float64{
		"1.5": 1.5, " 4 ": 4, "+2": 2, ".5": 0.5, "5.": 5, "1e-3": 0.001, "1E-07": 1e-7, "-0": 0, "0": 0,
		"1,234.5": 1234.5, "1,234,567": 1234567, "1,234,567.8": 1234567.8, "1.234,5": 1234.5, "1.234.567,8": 1234567.8,
		"2,25": 2.25, "1,062": 1.062, "0,002": 0.002,
		"250ms": 0.25, "1h2m3s": 3723, "1.5s": 1.5, "00:01:02.5": 62.5, "2:03": 123, "1:00:00,5": 3600.5, "100000000": 1e8,
	} {
		if got, ok := seconds(text); !ok || math.Abs(got-want) > 1e-9*math.Max(1, want) {
			t.Errorf("%q gives %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "NaN", "Inf", "+Inf", "-3", "1e30", "100000001", "soon", "0x10", "1_000", "1,2,3", "1;5", "1.2.3", "-1:00", "1:-30", "1:2:3:4", "::", "1e", "-5ms", "1.234.567",
	} {
		if got, ok := seconds(text); ok || got != 0 {
			t.Errorf("%q gives %v, %v, want 0 and unreadable", text, got, ok)
		}
	}
}

func TestFormatSeconds(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1.5: "1.5", 100: "100", 1e-7: "0", 0.1 + 0.2: "0.3", 0.131534993: "0.131535", 1e14: "100000000000000"} {
		if got := formatSeconds(n); got != want {
			t.Errorf("%v is written %q, want %q", n, got, want)
		}
	}
}

func TestTimestamp(t *testing.T) {
	start := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-03-04T09:10:11":       "2026-03-04T09:10:11",
		"2026-03-04 09:10:11.9":     "2026-03-04T09:10:11",
		"2026-03-04T10:10:11+01:00": "2026-03-04T09:10:11",
		"2026-03-04T10:10:11+0100":  "2026-03-04T09:10:11",
		"2026-03-04T08:00:00Z":      "2026-03-04T08:00:00",
		"2026-03-04T07:59:59Z":      "2026-03-04T09:00:00",
		"2026-03-04T10:20:00Z":      "2026-03-04T10:20:00",
		"2026-03-04T10:20:01Z":      "2026-03-04T09:00:00",
		"0001-01-01T00:00:00Z":      "2026-03-04T09:00:00",
		"yesterday":                 "2026-03-04T09:00:00",
		"":                          "2026-03-04T09:00:00",
	} {
		if got := timestamp(text, start, 20*time.Minute); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"2026-03-04T09:10:11Z": "2026-03-04T09:10:11", "1970-01-01T00:00:00": "", "": ""} {
		if got := timestamp(text, time.Time{}, 0); got != want {
			t.Errorf("without a start %q gives %q, want %q", text, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, row := range []struct{ in, name, text string }{
		{"plain ü 船 \U0001F600\t\n", "plain ü 船 \U0001F600\t\n", "plain ü 船 \U0001F600\t\n"},
		{"\x1b[1;31mred\x1b[0m", `\x1b[1;31mred\x1b[0m`, "red"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", `\x1b]0;title\x07a\x1b]8;;http://x\x1b\b`, "ab"},
		{"\x1b(Ba\x1bMb\x1b7", `\x1b(Ba\x1bMb\x1b7`, "ab"},
		{"\x1b]never ended", `\x1b]never ended`, "\ufffd]never ended"},
		{"\x1bPq#1\x1b\\a\x1b_b\x1b\\", `\x1bPq#1\x1b\a\x1b_b\x1b\`, "a"},
		{"\x1b[31", `\x1b[31`, "\ufffd[31"},
		{"\x1b", `\x1b`, "\ufffd"},
		{"\x00\x08\x7f", `\x00\x08` + "\x7f", "\ufffd\ufffd\x7f"},
		{"\xff\xc3(", `\xff\xc3(`, "\ufffd\ufffd("},
		{"\ufffe\uffff\ufffd", `\ufffe\uffff` + "\ufffd", "\ufffd\ufffd\ufffd"},
		{"\xed\xa0\xbd", `\ud83d`, "\ufffd"},
		{"&#27;", "&#27;", "&#27;"},
	} {
		if got := cleanName(row.in); got != row.name {
			t.Errorf("name %q gives %q, want %q", row.in, got, row.name)
		}
		if got := cleanText(row.in); got != row.text {
			t.Errorf("text %q gives %q, want %q", row.in, got, row.text)
		}
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("head ", 50_000) + strings.Repeat("middle ", 50_000) + strings.Repeat(" tail", 50_000)
	for _, piece := range []int{1, 1000, len(long)} {
		c := clip{limit: 4096}
		for rest := long; rest != ""; rest = rest[min(piece, len(rest)):] {
			c.write([]byte(rest[:min(piece, len(rest))]))
		}
		got := c.text(cleanText)
		want := long[:c.half()] + fmt.Sprintf("\n[... %d bytes cut ...]\n", len(long)-2*c.half()) + long[len(long)-c.half():]
		if got != want {
			t.Errorf("in pieces of %d: %d bytes, %q", piece, len(got), got[1900:2200])
		}
		if shorten(got, 4096, false) != got {
			t.Error("what was cut once is cut again")
		}
		if cap(c.buf) > 4*c.limit+2*piece {
			t.Errorf("in pieces of %d: held %d bytes", piece, cap(c.buf))
		}
	}
	c := clip{limit: 4096}
	c.write([]byte(long[:4096]))
	if got := c.text(cleanText); got != long[:4096] {
		t.Error("a text within the limit was changed")
	}
}

func TestClipKeepsCharactersWholeAndTheLimit(t *testing.T) {
	for shift := range 4 {
		c := clip{limit: 4096}
		c.write([]byte(strings.Repeat("x", shift) + strings.Repeat("\U0001F600", 5000) + strings.Repeat("x", shift)))
		if got := c.text(cleanText); strings.Contains(got, "\ufffd") || !utf8.ValidString(got) {
			t.Errorf("shift %d: a character was cut", shift)
		}
		c = clip{limit: 4096}
		c.write([]byte(strings.Repeat("\xff", 9000)))
		if got := c.text(cleanText); len(got) > 4096 {
			t.Errorf("cleaning made %d bytes", len(got))
		}
	}
}

func TestCutNamesStayTwo(t *testing.T) {
	half := strings.Repeat("n", 5000)
	seen := map[string]bool{}
	for _, middle := range []string{"a", "b", "\x01", "\x02"} {
		m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite><testcase name="`+half+middle+half+`"/></testsuite>`))
		name := *m.Suites[0].Cases[0].Name
		if len(name) > maxName || seen[name] {
			t.Errorf("name of %d bytes, seen before: %v", len(name), seen[name])
		}
		seen[name] = true
	}
}

func TestCharsets(t *testing.T) {
	utf16 := func(high, low int, mark bool, s string) string {
		var b strings.Builder
		if mark {
			s = "\ufeff" + s
		}
		for _, r := range s {
			units := []rune{r}
			if r > 0xFFFF {
				units = []rune{0xD800 + (r-0x10000)>>10, 0xDC00 + (r-0x10000)&0x3FF}
			}
			for _, u := range units {
				var pair [2]byte
				pair[high], pair[low] = byte(u>>8), byte(u)
				b.Write(pair[:])
			}
		}
		return b.String()
	}
	text := func(encoding, name string) string {
		return `<?xml version="1.0" encoding="` + encoding + `"?><testsuite><testcase name="` + name + `"/></testsuite>`
	}
	for _, row := range []struct{ name, report, want string }{
		{"ISO-8859-15", text("ISO-8859-15", "\xa4 \xbd \xe9"), "€ œ é"},
		{"ISO-8859-1", text("latin1", "\xa4 \x85"), "¤ \u0085"},
		{"windows-1252", text("Windows-1252", "\x80 \x93\xe9\x94 \x81"), "€ “é” \u0081"},
		{"declared one-byte, but UTF-8", text("ISO-8859-1", "é船"), "é船"},
		{"US-ASCII", text("US-ASCII", "é"), "é"},
		{"a mark wins over the declaration", "\xef\xbb\xbf" + text("windows-1252", "é"), "é"},
		{"UTF-16 BE", utf16(0, 1, true, text("UTF-16", "é船\U0001F600")), "é船\U0001F600"},
		{"UTF-16 LE without a mark", utf16(1, 0, false, text("UTF-16", "é船\U0001F600")), "é船\U0001F600"},
		{"UTF-16 with a lone surrogate", strings.Replace(utf16(1, 0, true, text("utf-16", "aXb")), "X\x00", "\x3d\xd8", 1), `a\ud83db`},
		{"UTF-16 with a byte too many", utf16(0, 1, true, text("utf-16", "a")) + "\x00", "a"},
		{"declared UTF-16, but UTF-8", text("UTF-16", "é"), "é"},
		{"declaration after log lines", "log\n" + text("ISO-8859-1", "\xe9"), "é"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, r := mergeFor(t, Options{}, attemptOf(t, 0, row.report))
			if got := *m.Suites[0].Cases[0].Name; got != row.want {
				t.Errorf("got %q, want %q, %v", got, row.want, r.Unread)
			}
		})
	}
}

func TestAttachments(t *testing.T) {
	a := attemptOf(t, 1, `<testsuite name="s"><system-out>[[ATTACHMENT|gone.txt]]</system-out><testcase name="c">`+
		`<failure>see shots/a.png, ./b.JPG and http://host/shots/a.png</failure><rerunFailure>at shots/a.png</rerunFailure><properties><property name="attachment" value="shots/a.png"/></properties>`+
		`<system-out>[[ATTACHMENT|trace.zip]] and [[ATTACHMENT|shots/a.png]] c.png</system-out></testcase></testsuite>`)
	a.Artifact = func(path string) string {
		return map[string]string{"shots/a.png": "shard-1/shots/a.png", "trace.zip": "shard-1/trace.zip"}[path]
	}
	m, r := mergeFor(t, Options{}, a)
	c := m.Suites[0].Cases[0]
	for got, want := range map[string]string{
		c.result().Body:    "see shard-1/shots/a.png, ./b.JPG and http://host/shots/a.png",
		c.RerunF[0].Stack:  "at shard-1/shots/a.png",
		c.Out[0]:           "[[ATTACHMENT|shard-1/trace.zip]] and [[ATTACHMENT|shard-1/shots/a.png]] c.png",
		c.Props[0].Value:   "shard-1/shots/a.png",
		m.Suites[0].Out[0]: "[[ATTACHMENT|gone.txt]]",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "gone.txt") {
		t.Errorf("warnings %q", r.Warnings)
	}
}
