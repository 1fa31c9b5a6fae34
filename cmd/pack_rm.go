package cmd

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
)

type packRemoveOptions struct {
	deps
	All   bool
	Names []string
}

func newPackRemove(d deps, run func(context.Context, packRemoveOptions) error) *cobra.Command {
	o := packRemoveOptions{deps: d}
	c := &cobra.Command{
		Use: "rm NAME... | rm --all", Short: "Remove packs",
		Long: "Removes the packs of these names, or with --all every pack in the list. A sandbox that was started from one runs on.",
	}
	c.Flags().BoolVar(&o.All, "all", false, "every pack")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		o.Names = args
		switch {
		case o.All && len(args) > 0:
			fault(f, "", "--all means every pack already: give names or --all")
		case !o.All && len(args) == 0:
			fault(f, "", "which pack? boxer pack rm NAME, or boxer pack rm --all")
		}
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// packRemoveAnswer is the document of pack rm --json.
type packRemoveAnswer struct {
	Schema  int      `json:"schema"`
	Removed []string `json:"removed"`
}

func runPackRemove(_ context.Context, o packRemoveOptions) error {
	names, err := o.names()
	if err != nil {
		return err
	}
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	doc := packRemoveAnswer{schema, []string{}}
	var errs []error
	for _, name := range names {
		if err := shelf.Remove(name); err != nil {
			errs = append(errs, err)
			continue
		}
		doc.Removed = append(doc.Removed, name)
	}
	if len(names) == 0 {
		o.say("there are no packs: nothing was removed")
	}
	return errors.Join(append(errs, o.answer(doc, doc.Removed...))...)
}

// names checks every name before anything is removed.
func (o packRemoveOptions) names() ([]string, error) {
	shelf, err := o.shelf()
	if err != nil {
		return nil, err
	}
	have, err := shelf.Names()
	if err != nil || o.All {
		return have, err
	}
	var errs []error
	for _, name := range o.Names {
		if !slices.Contains(have, name) {
			errs = append(errs, shelf.Unknown(name))
		}
	}
	return o.Names, errors.Join(errs...)
}
