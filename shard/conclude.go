package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/screen"
)

// conclude merges the reports while the children are removed, decides, and tells.
func (r *run) conclude(ctx context.Context, source runner.Source, shards [][]*attempt) (Result, error) {
	res := Result{
		ReportDir: r.dir.path, Seed: r.options.Seed, Started: r.started, Setup: r.options.Setup,
		Withheld: r.options.Withheld,
		Node:     r.options.Node, RunID: r.options.RunID, Count: r.options.Count,
		Configured: len(r.options.JUnit) > 0, AllowEmpty: r.options.AllowEmpty, Warnings: r.warnings,
		FailOnFlaky: r.options.FailOnFlaky, Listed: r.deal != nil,
	}
	for _, attempts := range shards {
		if a := attempts[0]; !a.forkBegun.IsZero() {
			res.Fork = max(res.Fork, a.forkBegun.Add(a.forkTook).Sub(r.started))
		}
	}
	var g errgroup.Group
	g.Go(func() error { return r.tearDown(ctx, source, &res) })
	rep, merged := r.merge(slices.Concat(shards...))
	err := errors.Join(merged, g.Wait())
	err = errors.Join(startError(shards), err)
	r.judge(ctx, &res, shards, rep)
	if r.deal != nil {
		res.Plan = r.deal.digest
		r.saveTimings(&res)
	}
	res.Wall = time.Since(r.started)
	if ctx.Err() == nil { // how long an interrupted run took says nothing
		res.Efficiency = r.efficiency(res)
		res.Bound = bound(res, r.options.Cores)
	}
	res.ExitCode = r.exitCode(ctx, res, err != nil)
	return r.tell(ctx, res, err)
}

func (r *run) merge(attempts []*attempt) (report.Result, error) {
	var all []report.Attempt
	for _, a := range attempts {
		if a.counts() {
			all = append(all, a.forReport(r.options))
		}
	}
	o := report.Options{
		Listed:     r.deal != nil,
		AllowEmpty: r.options.AllowEmpty, Reruns: r.options.Reruns, EmptyExitCodes: r.options.EmptyExitCodes,
		Mask: r.options.masker(), Roll: true,
	}
	to := filepath.Join(r.dir.path, mergedFile)
	moved := r.dir.inPlace()
	if moved != nil {
		to = "" // and read nothing either
		for i := range all {
			all[i].Reports = nil
		}
	}
	rep, err := report.Merge(all, o, to)
	if err = errors.Join(moved, err); err != nil {
		err = notWritten("the merged report was not written", r.dir.path, err)
	}
	return rep, err
}

// counts says whether the attempt is a part of the merged report.
func (a *attempt) counts() bool { return !a.void && (!a.redo || a.reading.whole) }

// judge lays what the reports say over how the commands ended.
func (r *run) judge(ctx context.Context, res *Result, shards [][]*attempt, rep report.Result) {
	r.options.locate(rep.Failed)
	r.options.locate(rep.FlakyCases)
	res.Report = rep
	res.Warnings = append(res.Warnings, rep.Warnings...)
	for _, attempts := range shards {
		s := r.shardOf(attempts)
		if i := slices.IndexFunc(rep.Shards, func(m report.Shard) bool { return m.Number == s.Number }); i >= 0 {
			s.reported(rep.Shards[i])
		}
		if s.Reason == "" && (s.State == Failed || s.State == TimedOut) {
			s.Reason = r.reasonOf(s.Number, rep.ErrorCases)
		}
		if !s.Checked && len(r.options.JUnit) == 0 && (s.State == Passed || s.State == Failed) {
			s.Hint = r.hint()
		}
		res.Warnings = append(res.Warnings, warnings(s, attempts)...)
		res.Shards = append(res.Shards, s)
	}
	res.Ledger = balance(res.Shards, rep, len(r.options.JUnit) > 0)
	if r.deal != nil {
		r.balanceUnits(ctx, res, rep, shards)
	}
}

// reasonOf is what boxer's own error cases say of a shard. With a list they are about units, and there may be several.
func (r *run) reasonOf(shard int, all []report.ErrorCase) string {
	reason, more := "", 0
	for _, e := range all {
		switch {
		case e.Shard != shard:
		case reason != "":
			more++
		case r.deal != nil:
			reason = e.Name + ": " + e.Message
		default:
			reason = e.Message
		}
	}
	if r.deal != nil && more > 0 {
		reason += fmt.Sprintf(" (and %d more in %s)", more, mergedFile)
	}
	return reason
}

// reported takes over what the reports say of the shard. A command that ends with a code for "no test found" and has a
// report without a case has not failed.
func (s *Shard) reported(rep report.Shard) {
	s.Totals, s.Checked, s.Identity = rep.Totals, rep.Checked, identityOf(rep)
	switch {
	case s.State == Passed && (rep.State == "failed" || rep.State == "error"):
		s.State = Failed
	case s.State == Failed && rep.Checked && rep.State == "empty":
		s.State = Passed
	}
}

func (r *run) hint() string {
	if r.options.Worktree == runner.Live && r.options.Count > 1 {
		return "the shards share one worktree, so each needs a report of its own: --junit 'reports/junit-<i>.xml'"
	}
	return reporterHint(r.options.Command, r.options.Dir)
}

func (r *run) exitCode(ctx context.Context, res Result, broken bool) int {
	f := facts{signal: signalOf(r.outer), broken: broken, open: !res.Ledger.Closed}
	if f.signal == 0 {
		f.signal = signalOf(ctx)
	}
	for _, s := range res.Shards {
		f.states = append(f.states, s.State)
	}
	f.noTests = noTests(res, r.options.AllowEmpty)
	if f.noTests {
		f.states = nil // they failed for no other reason
	} else {
		f.failed = res.Report.Bad() > 0 || res.FailOnFlaky && res.flaky() > 0
	}
	return exitCode(f)
}

// noTests says that all went well but that no report holds a case. A shard without one is an error case, unless its
// exit code says so too.
func noTests(res Result, allowed string) bool {
	if !res.Report.Empty || allowed == "yes" || len(res.Shards) == 0 {
		return false // without a shard all units are other nodes', or an earlier run vouches for them
	}
	for _, e := range res.Report.ErrorCases {
		if e.Kind != report.NoTests || e.Exit != 0 {
			return false
		}
	}
	for _, s := range res.Shards {
		if !s.Checked || (s.State != Passed && s.State != Failed) {
			return false
		}
	}
	return true
}

// tell writes result.json and the summary. What cannot be told is an error of the run, and changes its exit code.
func (r *run) tell(ctx context.Context, res Result, err error) (Result, error) {
	res = res.masked(r.options.Secrets)
	unwritten := r.dir.writePage(res, r.options)
	if unwritten == nil {
		res.Page = pageFile
	}
	doc, failed := res.JSON()
	if failed == nil {
		failed = r.dir.write(resultFile, doc)
	}
	failed = errors.Join(failed, unwritten, r.writeBooks(res))
	if failed != nil {
		err = errors.Join(err, notWritten("the result was not written", r.dir.path, failed))
	}
	if r.deal != nil {
		res.files = r.dir.results(ledgerFile, flakyFile)
	} else {
		res.files = r.dir.results()
	}
	r.screen.Close(func() []screen.Block { return tails(res) }, func(w io.Writer) { io.WriteString(w, summary(res, r.options)) })
	if failed := r.screen.Err(); failed != nil {
		err = errors.Join(err, (&runner.Error{
			Reason: "what the run had to say could not be printed", Cause: "OUTPUT_NOT_WRITTEN",
			Fix: "cat " + filepath.Join(r.dir.path, resultFile),
		}).Because(failed))
	}
	if err != nil {
		res.ExitCode = r.exitCode(ctx, res, true)
	}
	return res, err
}
