package shard

import (
	"path/filepath"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/ci"
)

// CI is the run as a CI system is told of it. Paths are relative to the folder that the steps of the job start in,
// where the reports lie in it.
func (r Result) CI(o Options, workspace string) ci.Run {
	o = o.filled()
	run := ci.Run{
		ExitCode: r.ExitCode, Ledger: r.Ledger.Line, Bound: r.Bound, Warnings: r.Warnings,
		Setup: r.Setup, Fork: r.Fork, Wall: r.Wall, Totals: ciTotals(r.Report.Totals),
		Efficiency: efficiency(r.Shards), Complete: r.Ledger.Units.complete(),
		Report: seenFrom(workspace, r.ReportDir), JSON: seenFrom(workspace, filepath.Join(r.ReportDir, resultFile)),
	}
	for _, name := range r.files {
		if name == "index.html" {
			run.HTML = seenFrom(workspace, filepath.Join(r.ReportDir, name))
		}
	}
	for _, s := range r.withoutOwn() {
		run.Shards = append(run.Shards, ci.Shard{
			Number: s.Number, Of: s.Of, State: string(s.State), Passed: s.State == Passed, Checked: s.Checked,
			Totals: ciTotals(s.Totals), Exit: s.Exit, Reason: s.Reason, Wall: s.Wall, Log: s.Log,
		})
	}
	for _, e := range r.Report.ErrorCases {
		run.Troubles = append(run.Troubles, ci.Case{Shard: e.Shard, Name: e.Name, Message: e.Message, Body: e.Body})
	}
	run.Failed, run.Flaky = ciCases(r.Report.Failed), ciCases(r.Report.FlakyCases)
	return run
}

func ciTotals(t report.Totals) ci.Totals {
	return ci.Totals{Tests: t.Tests, Failures: t.Bad(), Skipped: t.Skipped, Flaky: t.Flaky}
}

func ciCases(all []report.Case) []ci.Case {
	var out []ci.Case
	for _, c := range all {
		told := ci.Case{Shard: c.Shard, Name: fullName(c), Message: said(c), Body: c.Body}
		if filepath.IsLocal(c.File) { // elsewhere there is nothing to show it beside
			told.File, told.Line = c.File, c.Line
		}
		out = append(out, told)
	}
	return out
}

// seenFrom is a path as it is typed in a folder, or absolute where it lies elsewhere.
func seenFrom(folder, path string) string {
	if folder == "" {
		return path
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
