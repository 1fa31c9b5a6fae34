package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/smolvm"
)

type gcOptions struct {
	deps
	DryRun bool
}

func newGC(d deps, run func(context.Context, gcOptions) error) *cobra.Command {
	o := gcOptions{deps: d}
	c := &cobra.Command{
		Use: "gc", Short: "Take away what dead runs left behind, of all worktrees",
		Long: "Takes away what nobody owns any more, of all worktrees and wherever it is called:\n" +
			"  what a sandbox left whose keeper was killed: its files, its socket, its record\n" +
			"  sandboxes whose worktree is gone, with their children\n" +
			"  sandboxes and children whose processes have ended, and children of such sandboxes\n" +
			"  images, folders, sockets and records of boxer's that belong to no sandbox\n" +
			"What a live run holds stays, and is named. What boxer did not certainly make is never touched.\n" +
			"Prints one line for each thing: its kind, its name, why, and where it lies or lay.",
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "take nothing away, only name what would be")
	d.answers(c.Flags())
	check := func(args []string, f *config.Faults) {
		noArgs(args, f)
		if d.call.dir == "" {
			return // who has just removed a worktree may stand in what was it
		}
		if _, err := d.dir(); err != nil {
			noteFault(f, err)
		}
	}
	c.RunE = anywhere(d, check, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// gcAnswer is the document of gc --json.
type gcAnswer struct {
	Schema    int              `json:"schema"`
	DryRun    bool             `json:"dry_run"`
	Reclaimed []runner.Garbage `json:"reclaimed"` // with dry_run: what would be
	Skipped   []runner.Garbage `json:"skipped"`   // left alone; reason says why
}

// runGC goes by what lies in boxer's folders, and by boxer's marks on smolvm's machines.
func runGC(ctx context.Context, o gcOptions) error {
	dirs, err := o.runnerDirs()
	if err != nil {
		return err
	}
	found, err := keeper.ReclaimAll(ctx, dirs, o.DryRun)
	machines, vmErr := smolvm.ReclaimAll(ctx, dirs, o.DryRun)
	found.Items, found.Skipped = append(found.Items, machines.Items...), append(found.Skipped, machines.Skipped...)
	err = errors.Join(err, vmErr)
	for _, s := range found.Skipped {
		o.say("left alone: %s %s: %s", s.Kind, s.Name, s.Reason)
	}
	if len(found.Items) == 0 && err == nil {
		o.say("nothing to reclaim")
	} else if o.DryRun {
		o.say("nothing was taken away: --dry-run only names it")
	}
	doc := gcAnswer{schema, o.DryRun, append([]runner.Garbage{}, found.Items...), append([]runner.Garbage{}, found.Skipped...)}
	return errors.Join(err, o.answer(doc, lines(found.Items)...))
}

func lines(found []runner.Garbage) []string {
	var rows [][]string
	for _, g := range found {
		rows = append(rows, []string{g.Kind, g.Name, g.Reason, g.Path})
	}
	return columns(rows)
}
