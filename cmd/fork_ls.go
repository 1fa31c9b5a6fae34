package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

func newForkList(d deps, run func(context.Context, listOptions) error) *cobra.Command {
	o := listOptions{deps: d}
	c := &cobra.Command{Use: "ls", Short: "List the children of this worktree's sandbox"}
	c.Flags().BoolVar(&o.Resources, "resources", false, resourcesHelp)
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) { noArgs(args, f) },
		func(ctx context.Context) error { return run(ctx, o) })
	return c
}

func runForkList(ctx context.Context, o listOptions) error {
	scope, err := o.here()
	if err != nil {
		return err
	}
	list, err := o.listOf(ctx, scope, o.lister())
	if runner.CauseOf(err) == runner.NotRunning {
		err, list = nil, nil
	}
	if err != nil {
		return at(err, scope)
	}
	children := []runner.Sandbox{}
	for _, s := range list {
		if s.Parent != "" {
			children = append(children, s)
		}
	}
	return o.show(children)
}
