package report

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What other readers refuse and test tools write.
func TestReadLeniently(t *testing.T) {
	for _, row := range []struct{ name, report, want string }{
		{"XML 1.1", `<?xml version="1.1"?>` + failing, "a:failed"},
		{"a reference to a grammar", `<!DOCTYPE testsuite SYSTEM "file:///etc/[x]>">` + failing, "a:failed"},
		{"comments and instructions", `<?go x?><!-- a -- b ]]> --><testsuite><?php < ?><testcase name="a"><!-- <failure/> --></testcase></testsuite>`, "a:passed"},
		{"prefixes", `<j:testsuite xmlns:j="urn:j"><j:testcase j:name="no" name="a"/></j:testsuite>`, "a:passed"},
		{"quotes", `<testsuite name = 'x'><testcase name='a"b' ></testcase ></testsuite >`, `a"b:passed`},
		{"CDATA with its own end", `<testsuite><testcase name="a"><failure><![CDATA[x]]]]><![CDATA[>]]]></failure></testcase></testsuite>`, "a:failed"},
		{"control characters in tags", "<testsuite\x00><testcase \x07 name='a'/></testsuite>", "a:passed"},
		{"the same unknown attribute twice", `<testsuite><testcase name="a" x="1" x="2"/></testsuite>`, "a:passed"},
		{"an element that is not ASCII", `<testsuite><größe/><testcase name="a"/></testsuite>`, "a:passed"},
		{"a mark between roots", passing + "\n\ufeff" + suiteOf("b:passed"), "a:passed b:passed"},
		{"references", `<testsuite><testcase name="&#97;&#x62;&lt;&gt;&amp;&apos;&quot;"/></testsuite>`, `ab<>&'":passed`},
		{"impossible references", `<testsuite><testcase name="&#x110000;&#99999999999;&#xD800;&#0;"/></testsuite>`, `` + "\ufffd\ufffd" + `\ud800\x00:passed`},
		{"log lines around", "a < b & c\n" + failing + "\nnpm ERR! <3\x00\x00", "a:failed"},
		{"line ends", "<testsuite><testcase name=\"a\r\nb\rc\"/></testsuite>", "a\nb\nc:passed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, r := mergeFor(t, Options{}, attemptOf(t, 0, row.report))
			if got := runsOf(m); got != row.want || len(r.Unread) > 0 {
				t.Errorf("got %q, want %q, %v", got, row.want, r.Unread)
			}
			if warned := strings.Contains(strings.Join(r.Warnings, ""), "plain text"); warned != strings.HasPrefix(row.name, "log lines") {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, row := range []struct {
		name, report string
		kind         Kind
		line         int
		says         string
	}{
		{"0 bytes", "", Empty, 1, ""},
		{"NULs", "\x00\x00\n\x00", Empty, 1, ""},
		{"only a declaration", "<?xml version='1.0'?>\n", Empty, 1, ""},
		{"only text", "\n\nnpm ERR!", NotJUnit, 3, "plain text"},
		{"another root", "\n<html>", NotJUnit, 2, "<html>"},
		{"another root after a report", passing + "\n<coverage/>", NotJUnit, 2, "<coverage>"},
		{"bare &", "<testsuite>\n a & b</testsuite>", Malformed, 2, "&"},
		{"unknown entity", "<testsuite>\n&nbsp;</testsuite>", Malformed, 2, "&nbsp;"},
		{"reference without digits", "<testsuite>&#;</testsuite>", Malformed, 1, "&#;"},
		{"reference with a bad digit", "<testsuite>&#1f;</testsuite>", Malformed, 1, "&#1f;"},
		{"< in a value", "<testsuite>\n<testcase name='a<b'/></testsuite>", Malformed, 2, "<"},
		{"bare <", "<testsuite>\n1 < 2</testsuite>", Malformed, 2, "<"},
		{"wrong end tag", "<testsuite>\n</testcase>", Malformed, 2, "</testcase>"},
		{"end tag with another prefix", "<a:testsuite></b:testsuite>", Malformed, 1, "</b:testsuite>"},
		{"end tag alone", passing + "\n</testsuite>", Malformed, 2, "</testsuite>"},
		{"attribute twice", "<testsuite name='a' name='b'/>", Malformed, 1, "name twice"},
		{"attribute without value", "<testsuite name/>", Malformed, 1, "name"},
		{"attribute without quotes", "<testsuite name=x/>", Malformed, 1, "name"},
		{"two equal signs", "<testsuite name=='x'/>", Malformed, 1, "name"},
		{"no space between attributes", "<testsuite name='a'time='1'/>", Malformed, 1, "testsuite"},
		{"slash in a tag", "<testsuite / name='a'>", Malformed, 1, "/"},
		{"declaration inside", "<testsuite>\n<!ELEMENT a></testsuite>", Malformed, 2, "declaration"},
		{"CDATA outside", "<![CDATA[x]]>" + passing, Malformed, 1, "declaration"},
		{"DOCTYPE inside", "<testsuite>\n<!DOCTYPE a></testsuite>", Malformed, 2, "declaration"},
		{"DOCTYPE with a subset", "\n\n<!DOCTYPE a SYSTEM '>' [<!ENTITY b 'c'>]>" + passing, Doctype, 3, "entities"},
		{"long tag name", "<testsuite><" + strings.Repeat("a", maxTagName+1) + "/></testsuite>", Malformed, 1, "name"},
		{"too deep", strings.Repeat("<testsuite>\n", maxDepth+1), TooDeep, maxDepth + 1, "nested"},
		{"another encoding", "<?xml version='1.0'\nencoding='Shift_JIS'?>" + passing, Encoding, 2, "Shift_JIS"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, r := mergeFor(t, Options{}, attemptOf(t, 0, row.report))
			if len(r.Unread) != 1 || m.Tests != 1 || m.Errors != 1 {
				t.Fatalf("errors %v, totals %+v, want one refusal and no case", r.Unread, r.Totals)
			}
			e := r.Unread[0]
			if e.Kind != row.kind || e.Line != row.line || !strings.Contains(e.Reason, row.says) || e.File != "out/r.xml" {
				t.Errorf("got %v, want line %d, %s with %q", e, row.line, row.kind, row.says)
			}
		})
	}
}

// Every cut of a report gives an error case; what was complete is kept, and a failure that had begun too.
func TestEveryCut(t *testing.T) {
	whole := "<!-- c --><testsuite name=\"s\">\n<testcase name=\"a\"/>\n<testcase name=\"b\">\n<failure message=\"m\">\n<![CDATA[x]]>\n&amp;\n" +
		"</failure></testcase></testsuite>"
	begun := strings.Index(whole, "<failure") + len("<failure")
	for n := range len(whole) {
		m, r := mergeFor(t, Options{}, attemptOf(t, 0, whole[:n]))
		if len(r.ErrorCases) != 1 || len(r.Unread) != 1 {
			t.Fatalf("cut at %d: %d error cases, errors %v", n, len(r.ErrorCases), r.Unread)
		}
		e := r.Unread[0]
		if n > len("<!-- c -->") && (e.Kind != Truncated || e.Line != 1+strings.Count(strings.TrimRight(whole[:n], "\n"), "\n")) {
			t.Errorf("cut at %d: %v", n, e)
		}
		if want := n >= strings.Index(whole, "/>")+2; (len(m.Suites) > 1) != want {
			t.Errorf("cut at %d: kept %q", n, shown(m))
		}
		if kept := strings.Contains(strings.Join(shown(m), "|"), "s/b failed"); kept != (n >= begun) {
			t.Errorf("cut at %d: kept %q", n, shown(m))
		}
		if named := strings.Contains(e.Reason, "in test case b"); n > strings.Index(whole, `"b"`)+2 && n < strings.Index(whole, "</testcase>")+len("</testcase>") && !named {
			t.Errorf("cut at %d: %v does not name the open case", n, e)
		}
	}
}

// The pieces in which a file is read must not show.
func TestScannerInSmallPieces(t *testing.T) {
	text := `<?xml version="1.0"?><!-- - -- --><testsuite name="a&amp;b"><testcase name="c"><![CDATA[]] ` + "\r\n" + `]]>` + "x\r\ny" + `</testcase></testsuite>`
	read := func(r io.Reader) string {
		var b strings.Builder
		s := newScanner(r)
		for {
			tok, err := s.next()
			if err != nil || tok.kind == endOfFile {
				return b.String()
			}
			b.WriteString(tok.name + tok.attr("name") + string(tok.text))
		}
	}
	want := "testsuitea&btestcasec]] \nx\nytestcasetestsuite"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
		if got := read(r); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestDiskErrorIsNoEnd(t *testing.T) {
	s := newScanner(io.MultiReader(strings.NewReader("<testsuite>"), iotest.ErrReader(io.ErrNoProgress)))
	for {
		if tok, err := s.next(); err != nil {
			if e := err.(*ReadError); e.Kind != Unreadable {
				t.Errorf("got %v", e)
			}
			return
		} else if tok.kind == endOfFile {
			t.Fatal("no error")
		}
	}
}
