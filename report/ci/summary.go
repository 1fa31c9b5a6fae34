package ci

import (
	"fmt"
	"html"
	"os"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
)

const (
	// MaxSummary is where a step summary is cut. GitHub takes 1024 KiB, and drops the whole of a longer one.
	MaxSummary = 1000 << 10

	maxListedFlaky    = 200
	maxListedWarnings = 50
	maxBody           = 8 << 10 // bytes of one failure
	lastLineRoom      = 1 << 10
)

// WriteSummary appends the summary to the file of GITHUB_STEP_SUMMARY. What is there already counts too, for the limit
// is the file's; it is never touched.
func WriteSummary(path string, r Run) error {
	used := int64(0)
	if info, err := os.Stat(path); err == nil {
		used = info.Size() + 1
	}
	s := Summary(r, int(max(0, MaxSummary-used)))
	if s == "" {
		return fmt.Errorf("there is no room for a summary: others have filled %s", path)
	}
	return appendTo(path, s)
}

// Summary is the run in Markdown, at most limit bytes of it: cut at the border of a row, with a last line that says
// what is missing. It is "" where not even the head has room.
func Summary(r Run, limit int) string {
	p := page{left: limit - lastLineRoom}
	if !p.add(head(r)) {
		return ""
	}
	p.rows("shard", tableHead, rows(len(r.Shards), func(i int) string { return shardRow(r.Shards[i]) }), "\n")
	p.rows("failure", "\n### Failures\n\n", append(details(r.Troubles), details(r.Failed)...), "")
	p.rest("failure", r.Totals.Failures-len(r.Troubles)-len(r.Failed))
	flaky := r.Flaky[:min(len(r.Flaky), maxListedFlaky)]
	p.rows("flaky test", "\n### Flaky\n\n", rows(len(flaky), func(i int) string { return flakyRow(flaky[i]) }), "\n")
	p.rest("flaky test", r.Totals.Flaky-len(flaky))
	warnings := r.Warnings[:min(len(r.Warnings), maxListedWarnings)]
	p.rows("warning", "\n### Warnings\n\n", rows(len(warnings), func(i int) string { return "- " + markdown(warnings[i]) + "\n" }), "\n")
	p.rest("warning", len(r.Warnings)-len(warnings))
	return p.end(r.Report)
}

const tableHead = "\n| shard | state | tests | failed | skipped | flaky | time |\n| --: | --- | --: | --: | --: | --: | --: |\n"

// head is never cut: the verdict, and whether all tests are accounted for.
func head(r Run) string {
	mark := "✅"
	if r.ExitCode != 0 {
		mark = "❌"
	}
	return fmt.Sprintf("## %s boxer: %s\n\n%s", mark, markdown(r.Headline()), foot(r))
}

func foot(r Run) string {
	var b strings.Builder
	b.WriteString(markdown(r.Ledger) + "  \n")
	var took []string
	if r.Setup > 0 {
		took = append(took, "setup "+text.Seconds(r.Setup))
	}
	took = append(took, "fork "+text.Seconds(r.Fork), "wall "+text.Seconds(r.Wall))
	b.WriteString(strings.Join(took, " · ") + "  \n")
	if r.Bound != "" {
		fmt.Fprintf(&b, "efficiency %.0f %%: %s  \n", 100*r.Efficiency, markdown(r.Bound))
	}
	fmt.Fprintf(&b, "exit code %d · results in %s\n", r.ExitCode, markdown(r.Report))
	return b.String()
}

func shardRow(s Shard) string {
	state := markdown(s.State)
	if !s.Passed {
		state = "**" + state + "**"
	}
	if s.Reason != "" {
		state += ": " + markdown(text.Cut(s.Reason, 300))
	}
	if !s.Passed && s.Log != "" {
		state += " (" + markdown(s.Log) + ")"
	}
	counts := fmt.Sprintf("exit code %d | | |", s.Exit)
	if s.Checked {
		t := s.Totals
		counts = fmt.Sprintf("%s | %s | %s | %s", text.Thousands(t.Tests), some(t.Failures), some(t.Skipped), some(t.Flaky))
	} else if s.Wall == 0 {
		counts = "| | |"
	}
	took := ""
	if s.Wall > 0 {
		took = text.Seconds(s.Wall)
	}
	return fmt.Sprintf("| %d/%d | %s | %s | %s |\n", s.Number, s.Of, state, counts, took)
}

func some(n int) string {
	if n == 0 {
		return ""
	}
	return text.Thousands(n)
}

func details(all []Case) []string {
	return rows(len(all), func(i int) string {
		c := all[i]
		where := ""
		if !strings.HasPrefix(c.Name, "shard ") {
			where = fmt.Sprintf(" · shard %d", c.Shard)
		}
		if c.File != "" {
			where += " · " + place(c)
		}
		c.Body = middle(c.Body)
		return fmt.Sprintf("<details><summary>%s%s</summary>\n\n<pre>\n%s\n</pre>\n\n</details>\n\n",
			html.EscapeString(text.Plain(short(c.Name, 300))), html.EscapeString(text.Plain(where)), html.EscapeString(strings.Trim(block(c.said()), "\n")))
	})
}

func place(c Case) string {
	if c.Line > 0 {
		return fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	return c.File
}

// middle cuts the middle out of a long text: its start says what failed, its end why.
func middle(s string) string {
	if len(s) <= maxBody {
		return s
	}
	head, tail := s[:maxBody/2], s[len(s)-maxBody/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[... %d bytes cut ...]\n", len(s)-maxBody) + strings.ToValidUTF8(tail, "")
}

func flakyRow(c Case) string {
	line := "- " + markdown(text.Cut(c.Name, 300))
	if c.File != "" {
		line += " (" + markdown(place(c)) + ")"
	}
	if c.Message != "" {
		line += ": " + markdown(text.Cut(c.Message, 300))
	}
	return line + "\n"
}

func rows(n int, row func(int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = row(i)
	}
	return out
}

// markdown writes text as itself. Every mark that Markdown, GitHub's tables, mentions or links could start with becomes
// a reference, which none of them looks into.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range strings.TrimSpace(text.Plain(s)) {
		if strings.ContainsRune("\\`*_{}[]()<>#+!|~@&$^\"'", r) || i == 0 && strings.ContainsRune("-=:", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return strings.NewReplacer("://", "&#58;//", "www.", "www&#46;").Replace(b.String())
}
