package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/report/ci"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard"
)

const listHelp = "With a test list (--tests, --tests-from, --list) boxer deals its units: each child takes the next ones when it is free,\n" +
	"the longest first. They go in the place of <tests>, or into a file in the place of <tests-file>, or behind COMMAND.\n\n"

type shardOptions struct {
	deps
	scoped scoped
	run    shard.Options
	dry    bool
}

func newShard(d deps, run func(context.Context, shardOptions) error) *cobra.Command {
	o := shardOptions{deps: d}
	c := &cobra.Command{
		Use:   "shard [flags] -- COMMAND...",
		Short: "Run one shard of the tests in each of several forks of the sandbox",
		Long: "Prepares the sandbox if none runs, forks it, runs COMMAND in each child at once, merges the reports and removes\n" +
			"what was started. In COMMAND and in paths, <i> is the shard from 1, <i0> from 0, <n> how many there are and\n" +
			"<child> the child's name; {i} and so on mean the same where a shell would read < and >.\n\n" + listHelp + nodeHelp + exitHelp(),
		Example: "  boxer shard --count 4 -- npm test -- '--shard=<i>/<n>'\n" +
			"  boxer shard --count 4 --tests 'test/**/*.test.js' --retries 1 -- npx jest\n" +
			"  boxer shard --count 4 --node 2/5 -- npm test -- '--shard=<i>/<n>'",
	}
	takesCommand(c)
	d.shardFlags(c)
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print which shard would run what, and run nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		check := func(args []string, f *config.Faults) { o.check(c, args, f) }
		return action(d, check, func(ctx context.Context) error { return run(ctx, o) })(c, args)
	}
	return c
}

// listFlags are about test lists and what is done with their units.
func (d deps) listFlags(f *pflag.FlagSet) {
	d.setting(f, "tests", "`pattern` of test files that boxer deals to the children; !pattern takes away (repeatable)")
	d.setting(f, "tests-from", "`file` that lists the tests, one a line; - is stdin")
	d.setting(f, "list", "shell `line` that lists the tests, run in the prepared sandbox")
	f.VarPF(&settingFlag{name: "null", into: d.call.flags}, "null", "0", "names of the list end with NUL bytes, as find -print0 writes them").NoOptDefVal = "true"
	d.switchSetting(f, "static", "deal the list before the start, reproducibly, instead of to whoever is free")
	d.setting(f, "timings", "`file` with the times of the units (default timings.json in the report folder)")
	d.setting(f, "timings-from", "`pattern` of JUnit reports with times of units that the file does not know (repeatable)")
	d.setting(f, "rerun-failed", "run only what the ledger in this `file` does not vouch for: failed, never run, new")
	d.setting(f, "unit-timeout", "time `limit` of each unit of the list, such as 1m")
}

func (d deps) shardFlags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	d.setting(f, "count", "`number` of children, or auto: as many as processors and memory admit")
	d.setting(f, "node", "which of several CI `machines` this is, such as 2/5; auto: as the CI system says; none: the only one")
	d.setting(f, "parallel", "`number` of children at work at once (default all)")
	d.listFlags(f)
	d.setting(f, "junit", "`pattern` of JUnit reports that the command writes (repeatable)")
	d.setting(f, "artifacts", "`pattern` of other files to bring out (repeatable)")
	d.setting(f, "worktree", "`private`: each child writes to its own copy, or shared: all write to the real one")
	d.setting(f, "timeout", "time `limit` of each shard, such as 20m")
	d.setting(f, "env", "let a variable into the sandbox: `NAME`, NAME=value or PREFIX_* (repeatable)")
	d.setting(f, "user", "`name` or number of the user inside")
	d.switchSetting(f, "keep", "keep the children and the sandbox afterwards")
	d.switchSetting(f, "prepare", "restart a running sandbox that is no branch source")
	d.switchSetting(f, "fail-fast", "end the other shards when one has failed")
	d.setting(f, "retries", "how `often` what failed runs again, in a fresh fork: flaky if it passes, else real")
	d.setting(f, "max-retried", "retry nothing where more `tests` than this failed (default 10)")
	d.switchSetting(f, "fail-on-flaky", "fail the run for a test that passes only in a retry")
	d.setting(f, "seed", "`number` that BOXER_SEED of each shard is made from, as a failed run prints it")
	d.setting(f, "report", "`folder` for the reports (default boxer-report beside boxer.yaml)")
	d.setting(f, "allow-empty", "may a shard's report hold no test: `auto`, true or false")
	d.setting(f, "reruns", "count a test that fails and then passes in one report as flaky: `auto` or never")
	d.setting(f, "empty-exit-codes", "exit `codes` by which the command says that it found no test, such as 5")
	d.setting(f, "color", "`auto`, always or never (auto heeds NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR=0 and TERM=dumb)")
	d.setting(f, "ci", "whose log this is: `auto`, none, github or gitlab; github gets a summary, outputs and annotations too")
	d.answers(f)
}

// check finds everything that is wrong with the call, before anything is started.
func (o *shardOptions) check(c *cobra.Command, args []string, f *config.Faults) {
	switch {
	case len(args) > 0 && c.ArgsLenAtDash() != 0:
		fault(f, "", "the command goes behind --: boxer shard -- %s", strings.Join(args, " "))
		fallthrough
	case len(args) > 0:
		o.call.flags["command"] = args
	case c.ArgsLenAtDash() == 0:
		fault(f, "", "there is no command behind --")
	}
	o.scoped = o.resolve(f)
	if o.scoped.dir == "" {
		return
	}
	o.run = o.options(o.scoped)
	o.run.Tests = o.tests(f)
	o.run.TimingsFrom = o.oldReports(f)
	o.validate(f)
}

// validate adds what package shard refuses to what package config has found, without saying a thing twice.
func (o *shardOptions) validate(f *config.Faults) {
	if s := o.scoped; s.Backend == "host" && s.Shard.Worktree == runner.Private && s.From("shard.worktree") != "default" {
		fault(f, s.From("shard.worktree"), "the host backend has one worktree for all shards: shared is what it can")
	}
	before := fmt.Sprint(*f)
	for _, err := range flatten(o.run.Validate()) {
		e, ok := errors.AsType[*runner.Error](err)
		switch {
		case err == nil:
		case !ok:
			fault(f, "", "%s", err)
		case e.Cause == "NO_COMMAND" && strings.Contains(before, "command"):
		case e.Fix != "":
			fault(f, "", "%s: %s", e.Reason, e.Fix)
		default:
			fault(f, "", "%s", e.Reason)
		}
	}
}

// options are what package shard is asked to do.
func (o *shardOptions) options(s scoped) shard.Options {
	env, withheld := config.Environment(o.Env, s.Env)
	opts := shard.Options{
		Scope: s.scope, Count: s.Shard.Count, Command: s.Shard.Command, Dir: s.dir, Env: env, User: s.User,
		Worktree: s.Shard.Worktree, Timeout: s.Shard.Timeout, Base: s.Base, JUnit: s.Shard.JUnit, Artifacts: s.Shard.Artifacts,
		ReportDir: s.Shard.Report, FailFast: s.Shard.FailFast, Keep: s.Shard.Keep, Withheld: withheld,
		Secrets: config.Secrets(append(append([]string(nil), o.Env...), s.Env...)),
		Timings: s.Shard.Timings, UnitTimeout: s.Shard.UnitTimeout, Parallel: s.Shard.Parallel, Retries: s.Shard.Retries,
		MaxRetried: s.Shard.MaxRetried, FailOnFlaky: s.Shard.FailOnFlaky, Seed: uint32(s.Shard.Seed),
		AllowEmpty: yesNo(s.Shard.AllowEmpty), Reruns: s.Shard.Reruns, EmptyExitCodes: s.Shard.EmptyCodes,
	}
	o.onNode(&opts)
	if opts.Count == 0 {
		opts.Count = autoCount(runtime.GOMAXPROCS(0), runner.FreeMemory("/"))
	}
	if s.Backend == "host" {
		opts.Worktree = runner.Live // there is one worktree for all: report paths have to differ
	}
	return opts
}

// yesNo is package shard's word for allow_empty.
func yesNo(word string) string {
	switch word {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return word
}

func runShard(ctx context.Context, o shardOptions) error {
	if o.dry {
		return dryRun(ctx, o)
	}
	o.show()
	o.maskSecrets()
	o.sayNode()
	o.sayDoubts(o.scoped)
	o.warnCI()
	defer o.watch(ctx)()
	began := o.now()
	session, err := o.start(ctx, o.scoped, o.scoped.Shard.Worktree)
	if err != nil {
		err = at(err, o.scoped.scope)
		o.tellStart(interruption(ctx, err))
		return err
	}
	if session.Started() {
		o.run.Setup = o.now().Sub(began)
	} else if err := o.source(ctx, session); err != nil {
		return errors.Join(at(err, o.scoped.scope), session.Close())
	}
	o.run.Kill = o.Signals.Kill()
	result, err := shard.Run(ctx, session, o.run)
	return o.conclude(session, result, err)
}

// watch looks for a cancellation that GitLab begins elsewhere than at boxer, until it is told to stop.
func (o shardOptions) watch(ctx context.Context) (stop func()) {
	if o.run.CI != ci.GitLab || o.Signals == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Signals.watchWalk(ctx, o.scoped.scope.Key)
	}()
	return func() { cancel(); <-done }
}

// source sees that the sandbox that was found running can be forked.
func (o shardOptions) source(ctx context.Context, session runner.Session) error {
	if !o.scoped.Shard.Prepare {
		return o.forkable(ctx, session, o.scoped.scope, "boxer shard --prepare ...")
	}
	restarted, err := o.prepare(ctx, session)
	if err == nil && !restarted {
		o.say("this sandbox is a branch source already: nothing was restarted")
	}
	return err
}

// conclude gives the sandbox back and says what package shard does not know.
func (o *shardOptions) conclude(session runner.Session, result shard.Result, err error) error {
	code := result.ExitCode
	if closing := session.Close(); closing != nil {
		err = errors.Join(err, closing)
		if code < exitSignal {
			code = exitBroken
		}
	}
	if code == exitFailed || code == exitNotFound {
		if line := o.scoped.withheld(o.Env); line != "" {
			o.say("%s", line)
		}
	}
	o.tellCI(code, result)
	if o.call.json {
		err = errors.Join(err, o.document(result))
	}
	return ended{code, at(err, o.scoped.scope)}
}

// document prints what result.json holds.
func (o shardOptions) document(result shard.Result) error {
	b, err := result.JSON()
	if err != nil {
		return err
	}
	return o.answer(json.RawMessage(bytes.ReplaceAll([]byte(o.masker().Mask(string(b))), []byte("##["), []byte(`#\u0023[`))))
}
