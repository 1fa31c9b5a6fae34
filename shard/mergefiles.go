package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
)

// MergeFiles joins JUnit reports of whatever origin into one at path. Nobody knows which commands wrote them, so
// nothing is concluded from an exit code: each result counts as it stands. The Result has no shards.
func MergeFiles(ctx context.Context, files []report.File, path string, out io.Writer) (Result, error) {
	var all []report.Attempt
	for i, f := range files {
		all = append(all, report.Attempt{
			Shard: i + 1, Of: len(files), Attempt: 1, Title: f.Name, Merged: true, Configured: true, Reports: []report.File{f},
		})
	}
	rep, err := report.Merge(all, report.Options{Stop: ctx.Done()}, path)
	if errors.Is(err, report.ErrStopped) {
		return Result{ExitCode: exitBroken}, context.Cause(ctx)
	}
	if err != nil {
		err = notWritten("the merged report was not written", filepath.Dir(path), err)
	}
	res := Result{Report: rep, ReportDir: path, Configured: true, AllowEmpty: "auto", Warnings: rep.Warnings}
	f := facts{broken: err != nil, open: rep.Incomplete, failed: rep.Bad() > 0}
	if rep.Empty && !rep.Incomplete {
		f.failed, f.noTests = false, true
	}
	res.ExitCode = exitCode(f)
	res.Ledger = Ledger{Closed: !rep.Incomplete, Line: filesLine(len(files), rep)}
	for _, e := range rep.Unread {
		res.Warnings = append(res.Warnings, e.Error())
	}
	if _, failed := io.WriteString(out, filesSummary(res)); failed != nil {
		err = errors.Join(err, failed)
	}
	return res, err
}

// filesLine is what came of it in one line.
func filesLine(files int, rep report.Result) string {
	parts := []string{text.Plural(files, "report"), text.Plural(rep.Tests-len(rep.ErrorCases), "test")}
	for _, p := range []struct {
		n    int
		what string
	}{{rep.Bad() - len(rep.ErrorCases), " failed"}, {rep.Skipped, " skipped"}, {rep.Flaky, " flaky"}} {
		if p.n > 0 {
			parts = append(parts, text.Thousands(p.n)+p.what)
		}
	}
	if n := len(rep.ErrorCases); n > 0 {
		what := " cannot be read whole"
		if rep.Empty && !rep.Incomplete {
			what = " without a test"
		}
		parts = append(parts, text.Plural(n, "report")+what)
	}
	return strings.Join(parts, " · ")
}

func filesSummary(res Result) string {
	p := &sheet{}
	for i, c := range res.Report.Failed {
		if i == maxShownFailures {
			p.line(fmt.Sprintf("... and %s more", text.Plural(bad(res)-i, "failure")))
			break
		}
		name := c.Name
		if c.Classname != "" && c.Classname != c.Name {
			name = c.Classname + " > " + name
		}
		p.wrapped("", "FAILED "+name, text.None)
		if message := said(c); message != "" {
			p.wrapped("       ", message, text.None)
		}
	}
	writeWarnings(p, res)
	p.line(res.Ledger.Line)
	return p.b.String()
}
