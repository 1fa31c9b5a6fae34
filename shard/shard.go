// Package shard runs one command in several children of a sandbox side by side, brings their test reports together and
// says what came out of it: the fan-out, the live output, the merged report, the ledger, the exit code.
//
// It may touch the report folder it is given, and a sandbox only through the runner.Session it is given. It starts and
// ends no parent: that is the caller's. What it does own, and removes whatever happens, is the children it forked.
//
// The choice a reader would question: the children of a run are removed while the reports are merged, not after it. A
// merge may be slow or fail, and nothing of it may stand between a run and its end.
package shard

import (
	"context"

	"github.com/boxer-ci/boxer/runner"
)

// Run shards the command over children of the session's sandbox. A test that failed is part of the Result; the error
// is what kept boxer from learning or telling the result. The Result is complete even then, its ExitCode included.
//
// When ctx ends, commands get SIGTERM, what they have written is collected and reported, and the children are removed.
// If the cause of its end has a method Signal() syscall.Signal, that signal decides the exit code.
func Run(ctx context.Context, s runner.Session, o Options) (Result, error) {
	o = o.filled()
	if _, shares := s.(runner.Sharer); shares {
		o.Worktree = runner.Live
	}
	if err := o.Validate(); err != nil {
		return Result{ExitCode: exitUsage}, err
	}
	dir, err := openReportDir(o)
	if err != nil {
		return Result{ExitCode: exitBroken}, err
	}
	defer dir.close()
	list, warnings, err := o.open(ctx, s)
	if err != nil {
		return Result{ExitCode: notListed(ctx, err), ReportDir: dir.path}, err
	}
	r := newRun(o, s, dir, list)
	r.warnings = warnings
	return r.do(ctx)
}

// notListed is the exit code of a run that has no list to deal.
func notListed(ctx context.Context, err error) int {
	switch {
	case signalOf(ctx) != 0:
		return exitSignal + int(signalOf(ctx))
	case runner.CauseOf(err) == emptyList:
		return exitNoTests
	}
	return exitBroken
}
