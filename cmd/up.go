package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type upOptions struct {
	deps
	scoped scoped
}

func newUp(d deps, run func(context.Context, upOptions) error) *cobra.Command {
	o := upOptions{deps: d}
	c := &cobra.Command{
		Use: "up", Short: "Start the sandbox of this worktree: services, then setup",
		Long: "Starts the sandbox of this worktree, with its services and its setup, and leaves it running.\nOne that runs already is left as it is.",
	}
	d.setting(c.Flags(), "setup", "shell `line` to run once, after the services, in place of the setup of boxer.yaml (repeatable)")
	d.setting(c.Flags(), "env", "let a variable into the sandbox: `NAME`, NAME=value or PREFIX_* (repeatable)")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		noArgs(args, f)
		o.scoped = d.resolve(f)
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

func runUp(ctx context.Context, o upOptions) error {
	o.sayDoubts(o.scoped)
	session, err := o.start(ctx, o.scoped, runner.Live)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	return errors.Join(o.keep(ctx, session), session.Close())
}

func (o upOptions) keep(ctx context.Context, session runner.Session) error {
	if err := session.Keep(ctx); err != nil {
		return at(err, o.scoped.scope)
	}
	list, err := session.List(ctx)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	if !session.Started() {
		o.say("this sandbox runs already: nothing was started")
	}
	return o.answer(upAnswer{schema, session.Started(), session.Cleanup(), list[0]}, list[0].Slug)
}

// upAnswer is the document of up --json.
type upAnswer struct {
	Schema  int            `json:"schema"`
	Started bool           `json:"started"`
	Cleanup string         `json:"cleanup"` // "kernel", "supervised" or "best effort"
	Sandbox runner.Sandbox `json:"sandbox"`
}

// at puts the scope on an error that does not name one.
func at(err error, scope runner.Scope) error {
	if e, ok := errors.AsType[*runner.Error](err); ok {
		e.At(scope)
	}
	return err
}
