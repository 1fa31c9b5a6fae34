package shard

import (
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
)

const (
	maxShownFailures = 50
	maxShownFlaky    = 20
	underCase        = "       "
)

// writeFailures tells of each test that failed: its name, what it said, where it stands.
func writeFailures(p *sheet, res Result) {
	failed := res.Report.Failed
	if len(failed) == 0 {
		return
	}
	p.line("")
	for i, c := range failed {
		if i == maxShownFailures {
			p.wrapped("", fmt.Sprintf("... and %s more, all in %s", text.Plural(bad(res)-i, "failure"), mergedFile), text.None)
			break
		}
		word := "FAILED"
		if c.Status == report.Errored {
			word = "ERROR "
		}
		writeCase(p, word, text.Red, c)
	}
	p.line("")
}

// writeFlaky tells of the tests that passed only in the end.
func writeFlaky(p *sheet, res Result) {
	flaky := res.Report.FlakyCases
	if len(flaky) == 0 {
		return
	}
	if len(res.Report.Failed) == 0 {
		p.line("")
	}
	for i, c := range flaky {
		if i == maxShownFlaky {
			p.wrapped("", fmt.Sprintf("... and %s more, all in %s", text.Plural(res.Report.Flaky-i, "flaky test"), mergedFile), text.None)
			break
		}
		writeCase(p, "FLAKY ", text.Yellow, c)
	}
	p.line("")
}

// bad counts the failed cases; those of boxer's own are told with their shards.
func bad(res Result) int { return res.Report.Bad() - len(res.Report.ErrorCases) }

func writeCase(p *sheet, word string, c text.Colour, of report.Case) {
	head := fmt.Sprintf(" [%d] ", of.Shard)
	name := text.CutMiddle(oneLine(text.Cut(fullName(of), maxShownText)), p.room(len(word)+len(head)))
	p.line(p.paint(c, strings.TrimRight(word, " ")) + word[len(strings.TrimRight(word, " ")):] + head + p.paint(text.Bold, name))
	if message := said(of); message != "" {
		p.wrapped(underCase, message, text.None)
	}
	if place := placeOf(of); place != "" {
		p.path(underCase, place, text.Dim)
	}
}

func fullName(c report.Case) string {
	if c.Classname != "" && c.Classname != c.Name {
		return c.Classname + " > " + c.Name
	}
	return c.Name
}

func placeOf(c report.Case) string {
	if c.File != "" && c.Line > 0 {
		return fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	return c.File
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
