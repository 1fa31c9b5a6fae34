package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type runOptions struct {
	deps
	Scope   string
	Line    string
	Command []string
}

func newRun(d deps, run func(context.Context, runOptions) error) *cobra.Command {
	o := runOptions{deps: d}
	c := &cobra.Command{
		Use:   "run [flags] -c LINE | run [flags] -- PROGRAM ARGUMENT...",
		Short: "Run one command in the sandbox or a child",
		Long: "Runs one command in the sandbox of this worktree, or in the child that --scope names. Its input, output and\n" +
			"exit code pass through as they are, and it gets the signals that boxer gets.\n\n" + exitHelp(),
	}
	takesCommand(c)
	c.Flags().StringVar(&o.Scope, "scope", "", "sandbox or child of this `name`, from anywhere")
	c.Flags().StringVarP(&o.Line, "command", "c", "", "a `line` for /bin/sh")
	d.setting(c.Flags(), "env", "let a variable into the sandbox: `NAME`, NAME=value or PREFIX_* (repeatable)")
	d.setting(c.Flags(), "user", "`name` or number of the user inside")
	c.RunE = func(c *cobra.Command, args []string) error {
		check := func(args []string, f *config.Faults) { o.check(c, args, f) }
		return action(d, check, func(ctx context.Context) error { return run(ctx, o) })(c, args)
	}
	return c
}

func (o *runOptions) check(c *cobra.Command, args []string, f *config.Faults) {
	line := c.Flags().Changed("command")
	switch dashed := c.ArgsLenAtDash() == 0; {
	case line && len(args) > 0:
		fault(f, "-c", "a line and a program (%s) are one too many", args[0])
	case line && strings.TrimSpace(o.Line) == "":
		fault(f, "-c", "the line is empty")
	case line:
		o.Command = []string{"/bin/sh", "-c", o.Line}
	case len(args) == 0 || (dashed && strings.TrimSpace(args[0]) == ""):
		fault(f, "", "no command: boxer run -c 'LINE', or boxer run -- PROGRAM ARGUMENT...")
	case !dashed:
		fault(f, "", "the command goes behind --: boxer run -- %s", strings.Join(args, " "))
	default:
		o.Command = args
	}
}

func runRun(ctx context.Context, o runOptions) error {
	t, err := o.find(ctx, o.Scope)
	if err != nil {
		return err
	}
	session, err := o.attach(ctx, t.scope)
	if err != nil {
		return err
	}
	defer session.Close()
	var faults config.Faults
	s := o.configOf(t, &faults)
	if len(faults) > 0 {
		return faults
	}
	if err := o.sameBackend(s); err != nil {
		return err
	}
	exit, err := o.exec(ctx, session, t, s)
	if runner.CauseOf(err) == runner.UnknownScope {
		return o.unknown(ctx, o.Scope)
	}
	if err != nil {
		return at(err, t.scope)
	}
	return ended{exit.Code, nil}
}

// configOf reads the configuration of the sandbox that is meant: of the called folder if that lies in its worktree,
// else of the worktree itself.
func (d deps) configOf(t target, f *config.Faults) scoped {
	dir, err := d.dir()
	if err != nil {
		noteFault(f, err)
		return scoped{}
	}
	if here, err := runner.ScopeOf(dir); err != nil || here.Key != t.scope.Key {
		dir = t.scope.Worktree
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return d.resolveAt(dir, f)
}

func (d deps) sameBackend(s scoped) error {
	kind, err := d.recordedKind(s.scope)
	if err != nil {
		return err
	}
	return sameKind(s, kind)
}

// exec runs the command with boxer's own streams. From here to its end, signals are the command's.
func (o runOptions) exec(ctx context.Context, session runner.Session, t target, s scoped) (runner.Exit, error) {
	env, _ := config.Environment(o.Env, s.Env)
	signals, back := o.Signals.Forward()
	defer back()
	exit, err := session.Exec(ctx, t.child, runner.Command{
		Args: o.Command, Dir: s.dir, Env: env, User: s.User,
		Stdin: o.In, Stdout: o.Out, Stderr: o.Err, Signals: signals,
	})
	if i, ok := errors.AsType[Interrupted](err); ok {
		return runner.Exit{}, i
	}
	return exit, err
}
