package shard

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report/ci"
)

const green = `mkdir -p out; echo '<testsuite name="s"><testcase classname="c" name="t<i>"/></testsuite>' > out/r-<i>.xml; `

// verdicts are the ways in which a shard and its report can disagree, or one of them be missing. Shard 1 is well in all
// of them; what follows is done by shard 2 alone.
var verdicts = []struct {
	name, does string
	unset      bool // no report is configured
	code       int
}{
	{"exit-0-failing-report", `echo '<testsuite name="s"><testcase classname="c" name="t2" file="test/t.js" line="7"><failure message="1 is not 2">at test/t.js:7</failure></testcase></testsuite>' > out/r-2.xml; exit 0`, false, 1},
	{"exit-1-green-report", `echo "coverage is too low"; exit 1`, false, 1},
	{"crashed", `echo "about to crash"; kill -SEGV $$`, false, 1},
	{"time-limit", `echo "waiting for ever"; exec sleep 60`, false, 124},
	{"killed-by-others", `until test -s "$GO" && ! kill -0 "$(cat "$GO")" 2>/dev/null; do sleep 0.01; done; kill -KILL $$`, false, 137},
	{"no-report", `rm out/r-2.xml; echo "no reporter"; exit 0`, true, 0},
	{"no-report-exit-3", `rm out/r-2.xml; echo "no reporter"; exit 3`, true, 1},
	{"missing", `rm out/r-2.xml; exit 0`, false, 6},
	{"truncated", `printf '<testsuite name="s">\n<testcase classname="c" name="t2"/>\n<testcase classname="c" name="t3"><failure mess' > out/r-2.xml; exit 0`, false, 6},
	{"empty", `: > out/r-2.xml; exit 0`, false, 6},
	{"wrong-format", `echo '{"tests": 3, "failed": 0}' > out/r-2.xml; exit 0`, false, 6},
}

// What each form of the answer says of each verdict stands in testdata/verdict-NAME.txt.
func TestVerdictsInEveryForm(t *testing.T) {
	t.Parallel()
	for _, v := range verdicts {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, system := range []ci.System{ci.None, ci.GitHub, ci.GitLab} {
				m := newMachine(t)
				put(t, m.base, "test/t.js", "")
				o := m.shell(2, green+`if [ <i> = 2 ]; then `+v.does+`; else echo $$ > "$GO"; fi`)
				o.Env = append(o.Env, "GO="+m.base+"/go")
				o.CI = system
				o.JUnit = []string{"out/r-<i>.xml"}
				if v.unset {
					o.JUnit = nil
					o.Command[2] = strings.ReplaceAll(o.Command[2], "out", "reports")
				}
				if v.name == "time-limit" {
					o.Timeout = 2 * time.Second
				}
				var out screenOf
				o.Out = &out
				res, err := Run(t.Context(), forking{m}, o)
				if err != nil || res.ExitCode != v.code {
					t.Errorf("%s: exit code %d, want %d, error %v", system, res.ExitCode, v.code, err)
				}
				checkRemoved(t, m)
				forms(t, &b, m.base, o, res, out.String())
			}
			golden(t, "verdict-"+v.name+".txt", b.String())
		})
	}
}

func forms(t *testing.T, b *strings.Builder, base string, o Options, res Result, log string) {
	form := func(name, text string) {
		fmt.Fprintf(b, "-- %s --\n%s\n", name, strings.TrimRight(scrub(base, text), "\n"))
	}
	switch o.CI {
	case ci.None:
		form("terminal", log)
		form("junit.xml", contents(t, res.ReportDir, mergedFile))
		form("result.json, in part", digest(t, contents(t, res.ReportDir, resultFile)))
		form("index.html, in part", pageDigest(contents(t, res.ReportDir, pageFile)))
	case ci.GitHub:
		unfenced(t, log)
		told := res.CI(o, base)
		form("GitHub: log", log+ci.Annotations(told))
		form("GitHub: step summary", ci.Summary(told, ci.MaxSummary))
	case ci.GitLab:
		form("GitLab: log", log)
	}
}

// digest is what of the document is about verdicts.
func digest(t *testing.T, doc string) string {
	var d struct {
		ExitCode int        `json:"exit_code"`
		Ledger   ledgerJSON `json:"ledger"`
		Totals   totals
		Shards   []shardJSON
		Failures []caseJSON
		Warnings []string
	}
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "exit_code %d, totals %+v\nledger %+v\n", d.ExitCode, d.Totals, d.Ledger)
	for _, s := range d.Shards {
		fmt.Fprintf(&b, "shard %d: state %q, reason %q, exit_code %d, signal %q, checked %v, totals %+v\n", s.Number, s.State, s.Reason, s.ExitCode, s.Signal, s.Checked, s.Totals)
	}
	for _, f := range d.Failures {
		fmt.Fprintf(&b, "failure: shard %d, %q, %s:%d, %q\n", f.Shard, f.Name, f.File, f.Line, f.Message)
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "warning: %q\n", w)
	}
	return b.String()
}

// pageDigest is the text of the page that is about verdicts: its headline, the states of the shards and the failures.
func pageDigest(page string) string {
	var b strings.Builder
	for _, part := range regexp.MustCompile(`(?s)<h1.*?</h1>|<th scope="row">[^<]*</th><td>.*?</td>|<tr class="why".*?</tr>|<summary><.*?</summary>`).FindAllString(page, -1) {
		text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(part, " "))
		b.WriteString(regexp.MustCompile(` · [0-9.]+ m?s\b`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "") + "\n")
	}
	return b.String()
}

// scrub takes out of a text what is another one in each run.
func scrub(base, text string) string {
	text = strings.ReplaceAll(text, base, "/w")
	for _, r := range [][2]string{
		{`\d+\.\d s\b`, "T s"},
		{` +█+`, "  ▒"},
		{`(?m)^efficiency.*\n`, ""},
		{`\b[0-9a-f]{32}\b`, "TOKEN"},
		{`timestamp="[^"]*"`, `timestamp="T"`},
		{` time="[^"]*"`, ` time="T"`},
		{`(?m)> +$`, ">"}, // room that was left for the totals
		{`(name="boxer.wall_seconds" value=)"[^"]*"`, `$1"T"`},
		{`section_(start|end):\d+`, "section_$1:T"},
		{`\x1b`, `\e`},
		{`\r`, `\r`},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}
