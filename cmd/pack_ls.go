package cmd

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/runner/pack"
)

type packListOptions struct{ deps }

func newPackList(d deps, run func(context.Context, packListOptions) error) *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "List the packs",
		Long: "Lists the packs by name. Of each the manifest and the length are looked at, not every byte: boxer pack use does that.",
	}
	d.answers(c.Flags())
	c.RunE = action(d, noArgs, func(ctx context.Context) error { return run(ctx, packListOptions{d}) })
	return c
}

// packListAnswer is the document of pack ls --json.
type packListAnswer struct {
	Schema int        `json:"schema"`
	Packs  []packInfo `json:"packs"` // by name
}

func runPackList(_ context.Context, o packListOptions) error {
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	names, err := shelf.Names()
	if err != nil {
		return err
	}
	doc := packListAnswer{schema, []packInfo{}}
	for _, name := range names {
		doc.Packs = append(doc.Packs, look(name, shelf.Path(name)))
	}
	return o.answer(doc, o.table(doc.Packs)...)
}

// look tells what can be told of a pack, also of one that is broken.
func look(name, path string) packInfo {
	info := packInfo{Name: name, Path: path}
	p, err := pack.Open(path)
	if err != nil {
		if st, statErr := os.Stat(path); statErr == nil {
			info.Bytes = st.Size()
		}
		info.Damaged = err.Error()
		return info
	}
	defer p.Close()
	info = infoOf(p.Manifest, path)
	info.Name = name // what it is asked for by, if the file was renamed
	return info
}

func (o packListOptions) table(all []packInfo) []string {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"NAME", "SIZE", "AGE", "PLATFORM", "BACKEND", "OF", "PATH"}}
	for _, p := range all {
		row := []string{p.Name, size(p.Bytes), age(o.now().Sub(p.Created)), p.Platform, p.Backend, p.Of, p.Path}
		if p.Damaged != "" {
			row = []string{p.Name, size(p.Bytes), "-", "-", "-", "-", p.Path + "  damaged: " + p.Damaged}
		}
		rows = append(rows, row)
	}
	return columns(rows)
}
