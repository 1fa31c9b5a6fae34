package shard

import (
	"html"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report"
)

var (
	unseen = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// shown is the text of the page, one space wherever there is any.
func shown(page string) string {
	text := tags.ReplaceAllString(unseen.ReplaceAllString(page, ""), " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// The page must say what the rules say, whatever the command and its report say.
func TestThePageShowsTheVerdict(t *testing.T) {
	t.Parallel()
	const good = `<testsuite name="s"><testcase classname="c" name="good<i>"/></testsuite>`
	const bad = `<testsuite name="s"><testcase classname="c" name="bad<i>" file="a.js" line="3"><failure message="not two"/></testcase></testsuite>`
	for _, tt := range []struct {
		name, second string // what shard 2 does; shard 1 is well
		want         []string
	}{
		{"all is well", `echo '` + good + `' > r.xml`, []string{
			"✓ 2 tests passed", "exit code 0 : all passed", "✓ ledger closes", "2/2 ✓ passed 1 0 0 0 0 "}},
		{"exit code 0 and a failing report", `echo '` + bad + `' > r.xml`, []string{
			"✗ 1 failed of 2 tests", "exit code 1 : tests failed", "2/2 ✗ failed 1 1 0 0 0 ",
			"the command ended with exit code 0, but its report shows bad tests; they count",
			"✗ c › bad2 failed, shard 2 · s · a.js:3 not two"}},
		{"exit code 3 and a green report", `echo '` + good + `' > r.xml; exit 3`, []string{
			"✗ 1 failed of 3 tests", "2/2 ✗ failed 2 1 0 0 3 ",
			"error, shard 2 the command failed, but its report shows no failed test, exit code 3"}},
		{"crashed", `echo '` + good + `' > r.xml; echo last words; kill -SEGV $$`, []string{
			"2/2 ✗ failed 2 1 0 0 139 (SIGSEGV)", "error, shard 2 killed by SIGSEGV, exit code 139 last words"}},
		{"no report", `exit 0`, []string{
			"exit code 6", "✗ ledger open", "2/2 ✗ failed no report 0 ", "missing: the report of shard 2",
			"error, shard 2 no report (r.xml is missing), exit code 0"}},
		{"a truncated report", `echo '<testsuite name="s"><testcase classname="c" name="half"/><testcase' > r.xml`, []string{
			"exit code 6", "✗ ledger open", "cannot be read whole: the report of shard 2", "2/2 ✗ failed"}},
		{"an empty report", `: > r.xml`, []string{"exit code 6", "✗ ledger open", "2/2 ✗ failed", "cannot be read whole: the report of shard 2"}},
		{"a report of another format", `echo '{"tests": 4}' > r.xml`, []string{
			"exit code 6", "✗ ledger open", "2/2 ✗ failed", "cannot be read whole: the report of shard 2"}},
		{"the time limit", `echo '` + good + `' > r.xml; echo begun; exec sleep 100`, []string{
			"exit code 124 : time limit", "2/2 ✗ timed out", "error, shard 2 ended by boxer: time limit"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(2, `if [ <i> = 1 ]; then echo '`+good+`' > r.xml; exit 0; fi; `+tt.second)
			o.JUnit = []string{"r.xml"}
			if tt.name == "the time limit" {
				o.Timeout = time.Second
			}
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.Page != pageFile {
				t.Errorf("page %q, error %v", res.Page, err)
			}
			page := shown(contents(t, res.ReportDir, pageFile))
			for _, want := range tt.want {
				if !strings.Contains(page, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			if !strings.Contains(page, "1/2 ✓ passed 1 0 0 0 0 ") {
				t.Error("shard 1 is not told as passed")
			}
			if t.Failed() {
				t.Logf("the page:\n%s", page)
			}
		})
	}
}

// A run that is stopped has a page too.
func TestTheStoppedRunHasAPage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	res, _, _ := cancelWhen(t, forking{m}, m.shell(1, `echo ready; exec sleep 100`), interrupted(syscall.SIGINT), "ready", 1)
	page := shown(contents(t, res.ReportDir, pageFile))
	for _, want := range []string{"exit code 130 : ended by a signal", "1/1 ! cancelled", "! cancelled 0."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// A command that somebody else killed, the kernel for want of memory perhaps, has no verdict of its own.
func TestThePageTellsOfAKilledCommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	res, err := Run(t.Context(), forking{m}, m.shell(1, `echo last words; kill -KILL $$`))
	check(t, res, err, 137, Cancelled)
	page := shown(contents(t, res.ReportDir, pageFile))
	for _, want := range []string{
		"exit code 137 : ended by a signal", "1/1 ! cancelled", "137 (SIGKILL)", "ended by a SIGKILL that boxer did not send",
		"error, shard 1 killed by SIGKILL, exit code 137 last words All output: shard-1.log",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// What a report mentions is shown from where it was collected to, beside the page.
func TestThePageShowsCollectedPictures(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, `mkdir -p out && echo png > out/cart.png && echo png > out/other.png && echo zip > 'out/a trace?#.zip' &&
		echo '<testsuite name="s"><testcase classname="c" name="bad<i>"><failure message="no"/><system-out>opened [[ATTACHMENT|out/cart.png]] and [[ATTACHMENT|out/a trace?#.zip]] [[ATTACHMENT|gone.png]] [[ATTACHMENT|javascript:alert(1)]]</system-out></testcase></testsuite>' > r.xml; exit 1`)
	o.JUnit, o.Artifacts, o.Withheld = []string{"r.xml"}, []string{"out/**"}, []string{"AWS_PROFILE"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Failed, Failed)
	page := contents(t, res.ReportDir, pageFile)
	for _, want := range []string{
		`<img src="./shard-2/out/cart.png"`, `<img src="./shard-1/out/other.png"`, `href="./shard-2/out/a%20trace%3F%23.zip"`,
		`href="./shard-1.log"`, "AWS_PROFILE", "opened [[ATTACHMENT|shard-2/out/cart.png]]",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(page, "shard-2/out/cart.png\" alt") != 1 {
		t.Error("a picture that a failure shows is shown again")
	}
	for _, not := range []string{`"gone.png`, `"javascript:`, `"./gone.png`} {
		if strings.Contains(page, not) {
			t.Errorf("the page has a link %q", not)
		}
	}
	for _, href := range regexp.MustCompile(`(?:href|src)="\./([^"]*)"`).FindAllStringSubmatch(page, -1) {
		name := strings.NewReplacer("%20", " ", "%3F", "?", "%23", "#").Replace(html.UnescapeString(href[1]))
		if _, err := os.Stat(filepath.Join(res.ReportDir, name)); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
}

func TestThePageTellsWhenWhatRan(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "true")
	o.Setup = 3 * time.Second
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	p := pageOf(res, o)
	if p.Setup != o.Setup || !p.Started.Equal(res.Started.Add(-o.Setup)) {
		t.Errorf("setup %s from %s, the run began %s", p.Setup, p.Started, res.Started)
	}
	for _, c := range p.Children {
		if len(c.Spans) != 2 {
			t.Fatalf("spans %v", c.Spans)
		}
		fork, command := c.Spans[0], c.Spans[1]
		if fork.Start < o.Setup || fork.End < fork.Start || command.Start < fork.End || command.End < command.Start || command.End > o.Setup+res.Wall {
			t.Errorf("out of order: %v", c.Spans)
		}
	}
}

func TestConceal(t *testing.T) {
	t.Parallel()
	type deep struct {
		Text  string
		State State
		Many  []string
		hid   string
	}
	v := struct {
		All []deep
		N   int
	}{[]deep{{"a hunter2 b", "hunter2", []string{"hunter2-more", "none"}, ""}}, 7}
	conceal(reflect.ValueOf(&v).Elem(), []string{"hunter2", "hunter2-more", ""})
	if d := v.All[0]; d.Text != "a *** b" || d.State != "hunter2" || d.Many[0] != "***" || d.Many[1] != "none" {
		t.Errorf("%+v", v)
	}
}

// A secret that reports and logs do not have, because a reason is boxer's own text, must not stand in the page either.
func TestThePageHoldsNoSecret(t *testing.T) {
	t.Parallel()
	secret := `p<"w'd&6`
	res := results["failed"]
	res.Shards = append([]Shard(nil), res.Shards...)
	res.Shards[1].Reason = "cannot log in with " + secret
	res.Warnings = []string{"tried " + secret}
	res.Report.Slowest = []report.Case{{Name: secret + " logs in", Seconds: 1}}
	res.Report.Failed = []report.Case{{Shard: 2, Name: "x", Body: secret, Attachments: []string{"shard-2/" + secret + ".png"}}}
	o := Options{Base: "/w/app", Secrets: []string{secret}, Command: []string{"login", secret}}
	p := pageOf(res, o)
	if p.Command != "login '***'" || o.Command[1] != secret {
		t.Errorf("command %s of %q", p.Command, o.Command)
	}
	text := reflect.ValueOf(p)
	if seen := contains(text, secret); seen {
		t.Error("the secret is in the page's data")
	}
	if !contains(text, "cannot log in with ***") {
		t.Error("the reason is gone")
	}
	if res.Report.Failed[0].Body != secret || res.Warnings[0] != "tried "+secret {
		t.Error("the result itself was changed")
	}
}

// contains looks through all texts of a value.
func contains(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(v.String(), text)
	case reflect.Slice:
		for i := range v.Len() {
			if contains(v.Index(i), text) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if contains(v.Field(i), text) {
				return true
			}
		}
	}
	return false
}
