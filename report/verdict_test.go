package report

import (
	"slices"
	"strings"
	"testing"
)

// The inside of one test case, and what is written for it.
func TestVerdict(t *testing.T) {
	for _, row := range []struct{ name, attrs, inner, want, message, body string }{
		{name: "nothing", want: "c:passed"},
		{name: "failure", inner: `<failure message="m">b</failure>`, want: "c:failed", message: "m", body: "b"},
		{name: "text of elements inside", inner: `<failure>a<b>bold</b>c</failure>`, want: "c:failed", body: "aboldc"},
		{name: "error beats failure beats skipped", want: "c:error", message: "e", body: "E\n--- also: skipped: s\n\n--- also: failure: f\nF",
			inner: `<skipped message="s"/><failure message="f">F</failure><error message="e">E</error>`},
		{name: "skipped reason in text", inner: "<skipped>\n why \n</skipped>", want: "c:skipped", message: "why", body: "\n why \n"},
		{name: "status notrun", attrs: `status="notrun"`, want: "c:skipped", message: "notrun"},
		{name: "status Disabled", attrs: `status="Disabled"`, want: "c:skipped", message: "disabled"},
		{name: "status fail", attrs: `status="fail"`, want: "c:failed", message: "status fail"},
		{name: "status error", attrs: `status="error"`, want: "c:error", message: "status error"},
		{name: "status run", attrs: `status="run" result="completed"`, want: "c:passed"},
		{name: "result suppressed", attrs: `status="run" result="suppressed"`, want: "c:skipped", message: "suppressed"},
		{name: "an element beats the status", attrs: `status="fail"`, inner: `<skipped message="s"/>`, want: "c:skipped", message: "s"},
		{name: "flaky", inner: `<flakyError message="was"/>`, want: "c:flaky+E"},
		{name: "flaky beside a failure", inner: `<flakyFailure/><failure message="m"/>`, want: "c:failed+f", message: "m"},
		{name: "flaky beside a skipped", inner: `<flakyFailure/><skipped/>`, want: "c:flaky+F"},
		{name: "flaky with a failed status", attrs: `status="failed"`, inner: `<flakyFailure/>`, want: "c:failed+f", message: "status failed"},
		{name: "rerun beside a failure", inner: `<failure message="m"/><rerunFailure/><rerunError/>`, want: "c:failed+f+e", message: "m"},
		{name: "rerun alone", inner: `<rerunError message="m"><stackTrace>at 1</stackTrace></rerunError><rerunFailure/>`, want: "c:error+f", message: "m", body: "at 1"},
		{name: "rerun beside a skipped", inner: `<rerunFailure/><skipped message="s"/>`, want: "c:skipped", message: "s"},
		{name: "an unknown element around", inner: `<results><failure message="m"/></results>`, want: "c:failed", message: "m"},
		{name: "a namespace", inner: `<j:failure xmlns:j="urn:j" j:message="no" message="m"/>`, want: "c:failed", message: "m"},
		{name: "a report in an output is an output", inner: `<system-out><testcase><failure/></testcase></system-out>`, want: "c:passed"},
		{name: "a case in a case", inner: `<testcase name="d"><failure message="m"/></testcase>`, want: "d:failed c:passed", message: "m"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, _ := mergeFor(t, Options{}, attemptOf(t, 3, `<testsuite name="s"><testcase name="c" `+row.attrs+`>`+row.inner+
				`</testcase></testsuite>`, `<testsuite><testcase name="so that nothing is added"><failure/></testcase></testsuite>`))
			if got, _, _ := strings.Cut(runsOf(m), " sothat"); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if got := m.Suites[0].Cases[0].result(); got.Message != row.message || got.Body != row.body {
				t.Errorf("message %q, body %q, want %q, %q", got.Message, got.Body, row.message, row.body)
			}
		})
	}
}

// Where cases stand, and in which suites they are written.
func TestStructure(t *testing.T) {
	for _, row := range []struct {
		name, report string
		want         []string
	}{
		{"a case as root", `<testcase name="c"/>`, []string{"/c passed"}},
		{"two cases as roots", `<testcase name="c"/><testcase name="d"/>`, []string{"/c passed", "/d passed"}},
		{"loose cases go by the name of the root", `<testsuites name="r"><testcase name="c"/></testsuites><testcase name="d"/>`,
			[]string{"r/c passed", "/d passed"}},
		{"an unknown element around suites", `<testsuites><run><testsuite name="s"><testcase name="c"/></testsuite></run></testsuites>`,
			[]string{"s/c passed"}},
		{"an unknown element around cases", `<testsuite name="s"><tests><testcase name="c"/></tests></testsuite>`, []string{"s/c passed"}},
		{"an empty name in a path is left out", `<testsuite name="a"><testsuite><testsuite name="b"><testcase name="c"/></testsuite></testsuite></testsuite>`,
			[]string{"a > b/c passed"}},
		{"own cases come before those of suites inside", `<testsuite name="a"><testsuite name="b"><testcase name="c"/></testsuite><testcase name="d"/></testsuite>`,
			[]string{"a/d passed", "a > b/c passed"}},
		{"a suite in a case", `<testsuite name="a"><testcase name="c"><testsuite name="b"><testcase name="d"/></testsuite></testcase></testsuite>`,
			[]string{"a/c passed", "a > b/d passed"}},
		{"a suite in a loose case", `<testcase name="c"><testsuite name="b"><testcase name="d"/></testsuite></testcase>`,
			[]string{"/c passed", "b/d passed"}},
		{"testsuites in testsuites", `<testsuites><testsuites name="a"><testsuite name="b"><testcase name="c"/></testsuite></testsuites></testsuites>`,
			[]string{"a > b/c passed"}},
		{"failures of suites", `<testsuites name="r"><failure message="x"/><testsuite name="s"><error message="y"/><failure message="z"/></testsuite></testsuites>`,
			[]string{"r/(suite) failed x", "s/(suite) error y", "s/(suite) [2] failed z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, r := mergeFor(t, Options{}, attemptOf(t, 0, row.report))
			checkShown(t, m, row.want...)
			if len(r.Unread) > 0 {
				t.Error(r.Unread[0])
			}
		})
	}
}

func TestClassnames(t *testing.T) {
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite name="a"><testsuite name="b"><testcase name="c"/><testcase name="d" classname="k"/></testsuite></testsuite><testcase/>`))
	var got []string
	cases, _ := m.cases()
	for _, c := range cases {
		got = append(got, *c.Classname+"."+*c.Name)
	}
	if want := []string{"b.c", "k.d", "."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTexts(t *testing.T) {
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuite name="s" file="f"><system-out>one</system-out>`+
		`<testcase name="c" file="x" line="4" assertions="2"><system-err>e1</system-err><system-err>e2</system-err>`+
		`<properties><property name="p"> text </property></properties></testcase><system-out>two</system-out><system-err>err</system-err></testsuite>`))
	s, c := m.Suites[0], m.Suites[0].Cases[0]
	if s.File != "f" || !slices.Equal(s.Out, []string{"one\ntwo"}) || !slices.Equal(s.Err, []string{"err"}) {
		t.Errorf("suite %+v", s)
	}
	if c.File != "x" || c.Line != "4" || c.Assertions != "2" || !slices.Equal(c.Err, []string{"e1\ne2"}) || c.Props[0].Value != " text " {
		t.Errorf("case %+v", c)
	}
}

// Every character comes out as it went in, in a text and in an attribute.
func TestEscapes(t *testing.T) {
	in := `a &lt;b&gt; &amp;amp; "q" 'p' &#13;&#10; &#9; ]]&gt; ü`
	want := "a <b> &amp; \"q\" 'p' \r\n \t ]]> ü"
	m, r := mergeFor(t, Options{}, attemptOf(t, 1, `<testsuite><testcase name="c"><failure message="`+strings.ReplaceAll(in, `"`, "&quot;")+`">`+in+
		`</failure><properties><property name="`+strings.ReplaceAll(in, `"`, "&quot;")+`" value=""/></properties></testcase></testsuite>`))
	c := m.Suites[0].Cases[0]
	for _, got := range []string{c.result().Message, c.result().Body, c.Props[0].Name, r.Failed[0].Message, r.Failed[0].Body} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSuiteTimes(t *testing.T) {
	m, _ := mergeFor(t, Options{}, attemptOf(t, 0, `<testsuites><testsuite name="attribute" time="1.5"><testcase time="9"/></testsuite>`+
		`<testsuite name="unreadable" time="soon"><testcase time="2"/></testsuite>`+
		`<testsuite name="nested" time="50"><testcase time="3"/><testsuite name="in"><testcase time="4"/></testsuite></testsuite></testsuites>`))
	var got []float64
	for _, s := range m.Suites {
		got = append(got, s.Time)
	}
	if want := []float64{1.5, 2, 3, 4}; !slices.Equal(got, want) || m.Time != 10.5 {
		t.Errorf("got %v, root %v, want %v, 10.5", got, m.Time, want)
	}
}
