package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type downOptions struct {
	deps
	Scope string
	All   bool
}

func newDown(d deps, run func(context.Context, downOptions) error) *cobra.Command {
	o := downOptions{deps: d}
	c := &cobra.Command{
		Use: "down", Short: "Remove the sandbox of this worktree, with its children",
		Long: "Removes the sandbox of this worktree and all its children. Where none runs there is nothing to do.",
	}
	c.Flags().StringVar(&o.Scope, "scope", "", "the sandbox of this `name` instead, from anywhere")
	c.Flags().BoolVar(&o.All, "all", false, "the sandboxes of all worktrees")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		noArgs(args, f)
		if o.All && o.Scope != "" {
			fault(f, "--scope", "--all means every sandbox already: give one of the two")
		}
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// downAnswer is the document of down --json.
type downAnswer struct {
	Schema  int      `json:"schema"`
	Removed []string `json:"removed"` // keys of sandboxes
}

func runDown(ctx context.Context, o downOptions) error {
	scopes, err := o.scopesMeant(ctx)
	if err != nil {
		return err
	}
	doc := downAnswer{schema, []string{}}
	var lines []string
	var errs []error
	for _, scope := range scopes {
		removed, err := o.takeDown(ctx, scope)
		errs = append(errs, at(err, scope))
		if removed && err == nil {
			doc.Removed = append(doc.Removed, scope.Key)
			lines = append(lines, scope.Slug)
		}
	}
	if len(lines) == 0 && errors.Join(errs...) == nil {
		o.say("nothing runs here: nothing was removed")
	}
	return errors.Join(append(errs, o.answer(doc, lines...))...)
}

func (o downOptions) scopesMeant(ctx context.Context) ([]runner.Scope, error) {
	if o.All {
		return o.scopes()
	}
	t, err := o.find(ctx, o.Scope)
	if err != nil {
		return nil, err
	}
	if t.child != "" {
		return nil, &runner.Error{
			Reason: fmt.Sprintf("%s is a child, and down removes whole sandboxes", o.Scope),
			Cause:  "IS_CHILD", Fix: "boxer fork rm " + o.Scope,
		}
	}
	return []runner.Scope{t.scope}, nil
}

// downer is a backend that can end a sandbox without being able to talk to it: one that another version of boxer
// started, or what a crash left of one.
type downer interface {
	Down(ctx context.Context, s runner.Scope) error
}

// takeDown ends the scope's sandbox with its children; removed is false where there was none.
func (d deps) takeDown(ctx context.Context, scope runner.Scope) (removed bool, err error) {
	kind, err := d.recordedKind(scope)
	if err != nil || kind == "" {
		return false, err
	}
	b, err := d.backend(kind)
	if err != nil {
		return false, err
	}
	if b, ok := b.(downer); ok {
		return true, b.Down(ctx, scope)
	}
	session, err := d.attach(ctx, scope)
	if runner.CauseOf(err) == runner.NotRunning {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = session.Down(ctx)
	session.Close() // of what is gone: there is nothing it could still tell
	return err == nil, err
}
