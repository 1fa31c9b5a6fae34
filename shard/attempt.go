package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

// attempt is one command in one child: a shard has one of them, or several where its work came in batches or was done
// again.
type attempt struct {
	number, total int // the shard
	child         runner.Child
	forkBegun     time.Time // zero if there was no fork
	forkTook      time.Duration
	forkFault     error     // of a first try, where the second one went well
	begun         time.Time // of the attempt, before the command's start
	started       time.Time // of the command; zero if it never started
	wall          time.Duration
	exit          runner.Exit
	err           error // what kept boxer from learning how the command ended
	state         State
	reason        string
	notRun        string         // why the command never started, or ""
	killed        string         // why boxer ended it, or ""
	strange       syscall.Signal // it died of, not sent by boxer; or 0
	output        output
	collected     collected
}

// command runs the shard's command in the child and brings out what it wrote, however it ended.
func (r *run) command(ctx context.Context, child runner.Child, number int) *attempt {
	o := r.options
	a := &attempt{number: number, total: o.total(), child: child, begun: time.Now()}
	p := place{number: number, total: o.total(), child: child.Slug}
	picks := r.picks(p)
	err := r.clear(ctx, child, picks)
	if err == nil {
		err = r.exec(ctx, a, p)
	}
	if a.started.IsZero() {
		a.state, a.err = Lost, err
		if ctx.Err() != nil {
			a.state, a.err, err = Cancelled, nil, context.Cause(ctx)
		}
		a.notRun, a.reason = err.Error(), err.Error()
		return a
	}
	if a.notRun == "" {
		r.collect(ctx, a, picks)
	}
	return a
}

// exec runs the command with its output going to the log and the screen.
func (r *run) exec(ctx context.Context, a *attempt, p place) error {
	o := r.options
	ctx, cancel := limited(ctx, o.Timeout)
	defer cancel()
	status, forget := r.statusFile(a.number)
	defer forget()
	out, w, err := r.openOutput(a.number)
	if err != nil {
		return err
	}
	r.screen.State(a.number, "running")
	a.started = time.Now()
	exit, err := r.session.Exec(ctx, a.child.Key, runner.Command{
		Args: p.expandAll(o.Command), Dir: o.Dir, User: o.User, Stdout: w, Stderr: w,
		Env: environment(o.Env, p, seedOf(o.Seed, a.number), status),
	})
	a.wall = time.Since(a.started)
	w.Close()
	a.exit = exit
	a.judge(ctx, err)
	own, done := afterwards(ctx, r.killed, leftoverGrace, urgentGrace)
	defer done()
	a.output = out.finish(own)
	return nil
}

func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, timeLimit(d))
}

// judge decides how the attempt ended. The context is that of the command, which may have run out meanwhile.
func (a *attempt) judge(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	limit, timedOut := errors.AsType[timeLimit](cause)
	switch e := runner.CauseOf(err); {
	case err == nil && cause == nil && (a.exit.Signal == syscall.SIGTERM || a.exit.Signal == syscall.SIGKILL):
		a.state, a.strange = Cancelled, a.exit.Signal
		a.reason = fmt.Sprintf("ended by a %s that boxer did not send", signalName(a.exit.Signal))
	case err == nil && a.exit.Code == 0 && a.exit.Signal == 0:
		a.state = Passed
	case err == nil && (cause == nil || a.exit.Signal == 0):
		a.state = Failed
	case e == runner.CommandNotFound:
		a.state, a.notRun, a.reason = NotFound, err.Error(), err.Error()
	case e == runner.CommandNotExecutable:
		a.state, a.notRun, a.reason = NotExecutable, err.Error(), err.Error()
	case timedOut:
		a.state, a.killed = TimedOut, limit.Error()
	case cause != nil:
		a.state, a.killed, a.reason = Cancelled, cause.Error(), cause.Error()
	default:
		a.state, a.err, a.reason = Lost, err, err.Error()
		a.killed = "lost: " + err.Error()
	}
}

// statusFile is where a runner that knows Bazel's sharding says so. In a child of its own /tmp is its own; where all
// share one machine, boxer has a place for it that it also cleans up.
func (r *run) statusFile(number int) (path string, forget func()) {
	if _, shares := r.session.(runner.Sharer); !shares {
		return "/tmp/boxer-shard-status", func() {}
	}
	name := fmt.Sprintf(".shard-%d.status", number)
	return filepath.Join(r.dir.path, name), func() { r.dir.root.Remove(name) }
}

// forReport is the attempt as package report takes it.
func (a *attempt) forReport(o Options) report.Attempt {
	in := report.Attempt{
		Shard: a.number, Of: a.total, Attempt: 1, Started: a.started, Wall: a.wall, Exit: a.exit.Code,
		Killed: a.killed, NotRun: a.notRun, Configured: len(o.JUnit) > 0, Missing: a.collected.missing,
		Reports: a.collected.reports, OutputTail: strings.Join(runner.LastLines(a.output.tail), "\n"), Artifact: a.artifact(o),
	}
	if a.exit.Signal != 0 {
		in.Signal = signalName(a.exit.Signal)
	}
	return in
}

// artifact finds where a file that a report mentions was brought to, seen from the merged report. Runners write paths
// from where they started, from the repository, or absolute.
func (a *attempt) artifact(o Options) func(string) string {
	return func(path string) string {
		if !filepath.IsAbs(path) {
			for _, dir := range []string{o.Dir, o.Base, o.Scope.Worktree} {
				if found := a.broughtTo(o, filepath.Join(dir, path)); found != "" {
					return found
				}
			}
			return ""
		}
		return a.broughtTo(o, path)
	}
}

func (a *attempt) broughtTo(o Options, path string) string {
	rel, err := filepath.Rel(o.Base, path)
	if err != nil || !slices.Contains(a.collected.files, filepath.ToSlash(rel)) {
		return ""
	}
	return folderOf(a.number) + "/" + filepath.ToSlash(rel)
}
