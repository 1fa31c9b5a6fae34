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
	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/plan"
)

const maxTitle = 5 // units that a batch is named by

// attempt is one command in one child: a shard has one of them, or several where its work came in batches or was done
// again.
type attempt struct {
	number, total int        // the shard
	try           int        // from 1; later ones are retries
	batch         int        // of the shard, from 1; 0 without a list. A retry has that of the batch it does again
	jobs          []plan.Job // of a list
	child         runner.Child
	forkBegun     time.Time // zero if there was no fork
	forkTook      time.Duration
	forkFault     error     // of a first try, where the second one went well
	begun         time.Time // of the attempt, before the command's start
	deadline      time.Time // of the shard; zero: Options.Timeout from the command's start
	started       time.Time // of the command; zero if it never started
	wall          time.Duration
	exit          runner.Exit
	err           error // what kept boxer from learning how the command ended
	state         State
	reason        string
	notRun        string         // why the command never started, or ""
	killed        string         // why boxer ended it, or ""
	strange       syscall.Signal // it died of, not sent by boxer; or 0
	hung          bool           // it was over the time limit of its units
	lost          bool           // its only unit ended the child
	void          bool           // it ran other tests than the attempt that it was to repeat
	redo          bool           // its units without a result ran again, each by itself: it counts for nothing else
	strays        []string       // processes that it left behind
	reading       *reading
	output        output
	collected     collected
}

// command runs the attempt's command in its child and brings out what it wrote, however it ended.
func (r *run) command(ctx context.Context, a *attempt) {
	a.begun = time.Now()
	p := place{number: a.number, total: a.total, child: a.child.Slug}
	picks := r.picks(p)
	err := r.clear(ctx, a.child, picks)
	command, file := p.expandAll(r.options.Command), ""
	if err == nil && r.deal != nil {
		command, file, err = r.dealt(ctx, a, command)
		defer func() { r.forgetList(file) }()
	}
	if err == nil {
		err = r.exec(ctx, a, p, command)
	}
	if a.started.IsZero() {
		a.state, a.err = Lost, err
		if ctx.Err() != nil {
			a.state, a.err, err = Cancelled, nil, context.Cause(ctx)
		}
		a.notRun, a.reason = err.Error(), err.Error()
		return
	}
	if a.notRun == "" {
		r.collect(ctx, a, picks)
	}
}

// exec runs the command with its output going to the log and the screen.
func (r *run) exec(ctx context.Context, a *attempt, p place, command []string) error {
	o := r.options
	ctx, cancel := a.limited(ctx, o)
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
		Args: command, Dir: o.Dir, User: o.User, Stdout: w, Stderr: w,
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

// limited puts the time limits of the shard and of its units on a command: what comes first counts.
func (a *attempt) limited(ctx context.Context, o Options) (context.Context, context.CancelFunc) {
	var end time.Time
	var cause error
	if o.Timeout > 0 {
		if a.deadline.IsZero() {
			a.deadline = time.Now().Add(o.Timeout)
		}
		end, cause = a.deadline, timeLimit(o.Timeout)
	}
	if o.UnitTimeout > 0 && len(a.jobs) > 0 {
		units := time.Now().Add(o.UnitTimeout * time.Duration(len(a.jobs)))
		if end.IsZero() || units.Before(end) {
			end, cause = units, unitLimit{o.UnitTimeout, len(a.jobs), a.jobs[0].Unit.Key}
		}
	}
	if end.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, end, cause)
}

// judge decides how the attempt ended. The context is that of the command, which may have run out meanwhile.
func (a *attempt) judge(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	_, timedOut := errors.AsType[timeLimit](cause)
	_, hung := errors.AsType[unitLimit](cause)
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
	case timedOut, hung:
		a.state, a.killed, a.hung = TimedOut, cause.Error(), hung
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
	if !r.shares() {
		return "/tmp/boxer-shard-status", func() {}
	}
	name := fmt.Sprintf(".shard-%d.status", number)
	return filepath.Join(r.dir.path, name), func() { r.dir.root.Remove(name) }
}

// forReport is the attempt as package report takes it.
func (a *attempt) forReport(o Options) report.Attempt {
	in := report.Attempt{
		Shard: a.number, Of: a.total, Attempt: a.try, Batch: a.batch, Title: a.title(), Hostname: a.child.Slug, Started: a.started, Wall: a.wall, Exit: a.exit.Code,
		Killed: a.killed, NotRun: a.notRun, Configured: len(o.JUnit) > 0, Missing: a.collected.missing,
		Reports: a.collected.reports, OutputTail: strings.Join(runner.LastLines(a.output.tail), "\n"), Artifact: a.artifact(o),
	}
	if a.exit.Signal != 0 {
		in.Signal = signalName(a.exit.Signal)
	}
	if a.redo {
		in.Exit, in.Signal, in.Killed, in.Configured, in.Missing = 0, "", "", false, nil
	}
	return in
}

// title names a batch by its units, so that what has no report of its own is told apart.
func (a *attempt) title() string {
	if len(a.jobs) == 0 {
		return ""
	}
	names := make([]string, len(a.jobs))
	for i, j := range a.jobs {
		names[i] = j.Unit.Key
	}
	return text.FirstOf(names, maxTitle)
}

// folder is where the files of the attempt lie in the report folder.
func (a *attempt) folder() string {
	folder := folderOf(a.number)
	if a.batch > 0 {
		folder += fmt.Sprintf("/batch-%d", a.batch)
	}
	if a.try > 1 {
		folder += fmt.Sprintf("/retry-%d", a.try-1)
	}
	return folder
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
	return a.folder() + "/" + filepath.ToSlash(rel)
}
