package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type forkRemoveOptions struct {
	deps
	All   bool
	Names []string
}

func newForkRemove(d deps, run func(context.Context, forkRemoveOptions) error) *cobra.Command {
	o := forkRemoveOptions{deps: d}
	c := &cobra.Command{
		Use: "rm NAME... | rm --all", Short: "Remove children",
		Long: "Removes the children of these names, from anywhere, or with --all those of this worktree's sandbox.\nWhat runs in them ends. The sandbox itself stays: boxer down removes it.",
	}
	c.Flags().BoolVar(&o.All, "all", false, "all children of this worktree's sandbox")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		o.Names = args
		switch {
		case o.All && len(args) > 0:
			fault(f, "", "--all means every child already: give names or --all")
		case !o.All && len(args) == 0:
			fault(f, "", "which child? boxer fork rm NAME, or boxer fork rm --all")
		}
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// forkRemoveAnswer is the document of fork rm --json.
type forkRemoveAnswer struct {
	Schema  int      `json:"schema"`
	Removed []string `json:"removed"` // in slug form
}

func runForkRemove(ctx context.Context, o forkRemoveOptions) error {
	targets, err := o.targets(ctx)
	if err != nil {
		return err
	}
	doc := forkRemoveAnswer{schema, []string{}}
	var errs []error
	for _, t := range targets {
		removed, err := o.remove(ctx, t)
		errs = append(errs, at(err, t.scope))
		doc.Removed = append(doc.Removed, removed...)
	}
	if len(doc.Removed) == 0 && errors.Join(errs...) == nil {
		o.say("there are no children: nothing was removed")
	}
	return errors.Join(append(errs, o.answer(doc, doc.Removed...))...)
}

// doomed are children of one scope.
type doomed struct {
	scope runner.Scope
	names []string // empty: all
}

// targets checks every name before anything is removed.
func (o forkRemoveOptions) targets(ctx context.Context) ([]doomed, error) {
	if o.All {
		scope, err := o.here()
		return []doomed{{scope: scope}}, err
	}
	var out []doomed
	var errs []error
	for _, name := range o.Names {
		t, err := o.find(ctx, name)
		if err == nil && t.child == "" {
			err = notAChild(name, t.scope)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, doomed{t.scope, []string{name}})
	}
	return out, errors.Join(errs...)
}

func notAChild(name string, scope runner.Scope) error {
	e := &runner.Error{
		Reason: fmt.Sprintf("%s is no child but a sandbox itself", name), Cause: "NOT_A_CHILD", Fix: "boxer down --scope " + name,
	}
	return e.At(scope)
}

func (o forkRemoveOptions) remove(ctx context.Context, t doomed) ([]string, error) {
	session, err := o.attach(ctx, t.scope)
	if runner.CauseOf(err) == runner.NotRunning {
		if o.All {
			return nil, nil
		}
		return nil, o.unknown(ctx, t.names[0])
	}
	if err != nil {
		return nil, err
	}
	defer session.Close()
	list, err := session.List(ctx)
	if err != nil {
		return nil, err
	}
	names := chosen(t, list)
	if len(names) == 0 && !o.All {
		return nil, o.unknown(ctx, t.names[0])
	}
	return names, session.Remove(ctx, names...)
}

// chosen are the slugs of those children that are meant and exist. Children of a run that is under way are that
// run's own: --all leaves them.
func chosen(t doomed, list []runner.Sandbox) []string {
	var out []string
	for _, s := range list {
		switch {
		case s.Parent == "":
		case len(t.names) == 0 && s.Lasting, len(t.names) > 0 && (s.Slug == t.names[0] || s.Key == t.names[0]):
			out = append(out, s.Slug)
		}
	}
	return out
}
