package shard

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
)

const (
	maxShownFailures = 50
	maxShownWarnings = 20
	maxShownText     = 300 // characters of a message
)

// summary is what a run says at its end. Everything in it that a test or a command could have written is harmless.
func summary(res Result, o Options) string {
	var b strings.Builder
	writeShards(&b, res, o)
	writeFailures(&b, res)
	writeWarnings(&b, res)
	fmt.Fprintf(&b, "%s\n", res.Ledger.Line)
	writeEnd(&b, res, o)
	return b.String()
}

func writeShards(b *strings.Builder, res Result, o Options) {
	shared := sharedReason(res.Shards)
	for _, s := range res.Shards {
		line := fmt.Sprintf("[%d/%d] %-9s ", s.Number, s.Of, s.State)
		said := outcome(s)
		if reason := text.Harmless(text.Cut(s.Reason, maxShownText)); reason != "" && shared == "" {
			said = strings.TrimPrefix(said+": "+reason, ": ")
		}
		line += said
		if s.State != Passed && s.Log != "" {
			line += "  " + o.display(filepath.Join(res.ReportDir, s.Log))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if o.Mode != Lines && s.State != Passed {
			writeTail(b, s.tail)
		}
	}
	if shared != "" {
		b.WriteString(text.Harmless(text.Cut(shared, maxShownText)) + "\n")
	}
}

// writeTail shows the end of an output that was not shown as it came.
func writeTail(b *strings.Builder, tail []string) {
	for _, line := range tail {
		fmt.Fprintf(b, "  | %s\n", text.Harmless(text.Cut(strings.TrimRight(line, "\r"), maxShownText)))
	}
}

// sharedReason is what all shards have to say: a command that is not there is told once.
func sharedReason(shards []Shard) string {
	if len(shards) < 2 {
		return ""
	}
	for _, s := range shards {
		if s.Reason != shards[0].Reason {
			return ""
		}
	}
	return shards[0].Reason
}

// outcome is what a shard's tests did, or its exit code where no report tells.
func outcome(s Shard) string {
	var parts []string
	switch {
	case s.Checked:
		parts = append(parts, text.Plural(s.Tests, "test"))
		if bad := s.Bad(); bad > 0 {
			parts = append(parts, text.Thousands(bad)+" failed")
		}
		if s.Skipped > 0 {
			parts = append(parts, text.Thousands(s.Skipped)+" skipped")
		}
		if s.Flaky > 0 {
			parts = append(parts, text.Thousands(s.Flaky)+" flaky")
		}
	case s.Signal != 0 && s.Reason == "":
		parts = append(parts, "ended by "+signalName(s.Signal))
	case s.Reason == "" && !s.Started.IsZero() && (s.State == Passed || s.State == Failed):
		parts = append(parts, fmt.Sprintf("exit code %d", s.Exit))
	}
	if !s.Started.IsZero() {
		parts = append(parts, text.Seconds(s.Wall))
	}
	return strings.Join(parts, ", ")
}

func writeFailures(b *strings.Builder, res Result) {
	failed := res.Report.Failed
	if len(failed) == 0 {
		return
	}
	b.WriteString("\n")
	for i, c := range failed {
		if i == maxShownFailures {
			fmt.Fprintf(b, "... and %s more, all in %s\n", text.Plural(bad(res)-i, "failure"), mergedFile)
			break
		}
		writeFailure(b, c)
	}
	b.WriteString("\n")
}

// bad counts the failed cases; those of boxer's own are told with their shards.
func bad(res Result) int { return res.Report.Bad() - len(res.Report.ErrorCases) }

func writeFailure(b *strings.Builder, c report.Case) {
	name := c.Name
	if c.Classname != "" && c.Classname != c.Name {
		name = c.Classname + " > " + name
	}
	fmt.Fprintf(b, "FAILED [%d] %s\n", c.Shard, text.Harmless(text.Cut(name, maxShownText)))
	if message := said(c); message != "" {
		fmt.Fprintf(b, "       %s\n", text.Harmless(text.Cut(message, maxShownText)))
	}
	switch {
	case c.File != "" && c.Line > 0:
		fmt.Fprintf(b, "       %s:%d\n", text.Harmless(text.Cut(c.File, maxShownText)), c.Line)
	case c.File != "":
		fmt.Fprintf(b, "       %s\n", text.Harmless(text.Cut(c.File, maxShownText)))
	}
}

// said is the message of a case. Converters of go test's output write "Failed" there, and what happened into the body.
func said(c report.Case) string {
	message := strings.TrimSpace(c.Message)
	switch strings.ToLower(message) {
	case "", "failed", "failure", "error":
	default:
		return message
	}
	for line := range strings.Lines(c.Body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return message
}

func writeWarnings(b *strings.Builder, res Result) {
	for i, w := range res.Warnings {
		if i == maxShownWarnings {
			fmt.Fprintf(b, "... and %s more, all in %s\n", text.Plural(len(res.Warnings)-i, "warning"), resultFile)
			break
		}
		fmt.Fprintf(b, "warning: %s\n", text.Harmless(text.Cut(w, maxShownText)))
	}
	for _, n := range res.Ledger.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	for _, s := range res.Shards {
		if s.Hint != "" {
			fmt.Fprintf(b, "hint: %s\n", s.Hint)
			break
		}
	}
}

func writeEnd(b *strings.Builder, res Result, o Options) {
	var took []string
	if res.Setup > 0 {
		took = append(took, "setup "+text.Seconds(res.Setup))
	}
	took = append(took, "fork "+text.Seconds(res.Fork), "wall "+text.Seconds(res.Wall))
	fmt.Fprintf(b, "%s\n", strings.Join(took, " · "))
	if res.Bound != "" {
		fmt.Fprintf(b, "%s\n", res.Bound)
	}
	fmt.Fprintf(b, "results in %s\n", o.display(res.ReportDir))
	writeKept(b, res)
}

// writeKept says how to look into a child: the first that failed, else the first.
func writeKept(b *strings.Builder, res Result) {
	if len(res.Kept) == 0 {
		return
	}
	show := res.Kept[0]
	for _, s := range res.Shards {
		if s.State != Passed && s.Child != "" {
			show = s.Child
			break
		}
	}
	remove := "boxer fork rm " + strings.Join(res.Kept, " ")
	if res.parentKept {
		remove = "boxer down"
	}
	fmt.Fprintf(b, "kept: %s\nlook inside: boxer run --scope %s -- sh\nremove: %s\n", strings.Join(res.Kept, " "), show, remove)
}
