package shard

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/page"
)

const (
	pageFile       = "index.html"
	maxListedFiles = 500 // collected files of one shard that the page links to
)

// writePage writes the page for people. It tells the same as the other results, so no secret may stand in it either.
func (d *reportDir) writePage(res Result, o Options) error {
	var b bytes.Buffer
	if err := page.Render(&b, pageOf(res, o)); err != nil {
		return fmt.Errorf("write %s: %w", pageFile, err)
	}
	return d.write(pageFile, b.Bytes())
}

func pageOf(res Result, o Options) page.Page {
	begin := res.Started.Add(-res.Setup)
	command := slices.Clone(o.Command)
	conceal(reflect.ValueOf(&command).Elem(), o.Secrets) // before the quotes, which may stand inside of a secret
	p := page.Page{
		Project: filepath.Base(o.Base), Command: typed(command), Started: begin,
		ExitCode: res.ExitCode, Meaning: meaning(res.ExitCode), Totals: pageTotals(res.Report.Totals),
		Ledger: page.Ledger{Closed: res.Ledger.Closed, Line: res.Ledger.Line, Notes: slices.Clone(res.Ledger.Notes)},
		Setup:  res.Setup, Fork: res.Fork, Wall: res.Wall, Bound: res.Bound,
		Unlisted: bad(res) - len(res.Report.Failed), Warnings: slices.Clone(res.Warnings), Withheld: slices.Clone(o.Withheld),
		Merged: mergedFile, Data: resultFile,
	}
	if o.Node.Total > 1 {
		p.Node = fmt.Sprintf("%d/%d", o.Node.Index, o.Node.Total)
	}
	logs := map[int]string{}
	for _, s := range res.Shards {
		logs[s.Number] = s.Log
		p.Children = append(p.Children, pageChild(s, begin))
	}
	for _, e := range res.Report.ErrorCases {
		p.Failures = append(p.Failures, page.Case{
			Shard: e.Shard, Attempt: e.Attempt, Name: e.Name, Class: report.OwnSuite, Suite: report.OwnSuite, State: page.State(report.Errored),
			Message: e.Message, Body: e.Body, Log: logs[e.Shard], Own: true,
		})
	}
	p.Failures = append(p.Failures, pageCases(res.Report.Failed, logs)...)
	p.Flaky = pageCases(res.Report.FlakyCases, logs)
	p.Slowest, p.Tests = pageCases(res.Report.Slowest, logs), pageCases(res.Report.Roll, logs)
	for _, f := range res.Report.Files {
		p.Files = append(p.Files, page.FileTime(f))
	}
	conceal(reflect.ValueOf(&p).Elem(), o.Secrets)
	return p
}

func pageChild(s Shard, begin time.Time) page.Child {
	c := page.Child{
		Number: s.Number, Of: s.Of, Name: s.Child, State: page.State(s.State), Reason: s.Reason, Hint: s.Hint,
		Totals: pageTotals(s.Totals), Checked: s.Checked, Log: s.Log,
	}
	c.Spans = spansOf(s, begin)
	if !s.Started.IsZero() {
		c.Exit = fmt.Sprint(s.Exit)
	}
	if s.Signal != 0 {
		c.Exit += " (" + signalName(s.Signal) + ")"
	}
	if s.State == Failed && s.Exit == 0 && s.Signal == 0 && s.Reason == "" {
		c.Reason = "the command ended with exit code 0, but its report shows bad tests; they count"
	}
	c.Files = append(slices.Clone(s.Reports), s.Artifacts...)
	if over := len(c.Files) - maxListedFiles; over > 0 {
		c.Files, c.Omitted = c.Files[:maxListedFiles], over
	}
	return c
}

// spansOf are the forks and commands of a shard; what one of several commands ran is told as its units.
func spansOf(s Shard, begin time.Time) []page.Span {
	batches := s.Batches
	if len(batches) == 0 {
		batches = []Batch{{Attempt: 1, ForkStarted: s.ForkStarted, Fork: s.Fork, Started: s.Started, Wall: s.Wall, State: s.State}}
	}
	var spans []page.Span
	for _, b := range batches {
		if !b.ForkStarted.IsZero() {
			start := b.ForkStarted.Sub(begin)
			spans = append(spans, page.Span{Kind: page.Fork, Start: start, End: start + b.Fork, Attempt: b.Attempt})
		}
		if b.Started.IsZero() {
			continue
		}
		start := b.Started.Sub(begin)
		span := page.Span{Kind: page.Command, Start: start, End: start + b.Wall, State: page.State(b.State), Attempt: b.Attempt}
		spans = append(spans, span)
		if len(b.Units) > 0 {
			span.Kind, span.Label = page.Unit, strings.Join(b.Units, ", ")
			spans = append(spans, span)
		}
	}
	return spans
}

func pageTotals(t report.Totals) page.Totals {
	return page.Totals{Tests: t.Tests, Passed: t.Passed, Failures: t.Failures, Errors: t.Errors, Skipped: t.Skipped, Flaky: t.Flaky}
}

func pageCases(all []report.Case, logs map[int]string) []page.Case {
	var out []page.Case
	for _, c := range all {
		out = append(out, page.Case{
			Shard: c.Shard, Attempt: c.Attempt, Suite: c.Suite, Class: c.Classname, Name: c.Name, File: c.File, Line: c.Line,
			State: page.State(c.Status), Seconds: c.Seconds, Message: c.Message, Type: c.Type, Body: c.Body, Out: c.Out, Err: c.Err,
			Attachments: slices.Clone(c.Attachments), Earlier: c.Earlier, Log: logs[c.Shard],
		})
	}
	return out
}

// meaning is what an exit code says, in words.
func meaning(code int) string {
	switch code {
	case 0:
		return "all passed"
	case exitFailed:
		return "tests failed"
	case exitNoTests:
		return "no test ran"
	case exitOpenLedger:
		return "the ledger does not close: tests or reports are missing or doubled"
	case exitTimedOut:
		return "time limit"
	case exitBroken:
		return "boxer or the backend failed, or the run was stopped"
	case exitNotExecutable:
		return "the command cannot be executed in the child"
	case exitNotFound:
		return "the command was not found in the child"
	}
	return "ended by a signal"
}
