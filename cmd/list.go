package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/runner"
)

type listOptions struct {
	deps
	Resources bool
}

func newList(d deps, run func(context.Context, listOptions) error) *cobra.Command {
	o := listOptions{deps: d}
	c := &cobra.Command{Use: "ls", Short: "List the sandboxes of all worktrees and their children"}
	c.Flags().BoolVar(&o.Resources, "resources", false, resourcesHelp)
	d.answers(c.Flags())
	c.RunE = action(d, noArgs, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

const resourcesHelp = "with the memory and disk of each: of its own, and shared with others"

// listAnswer is the document of ls --json and fork ls --json.
type listAnswer struct {
	Schema    int              `json:"schema"`
	Sandboxes []runner.Sandbox `json:"sandboxes"` // each parent, then its children
}

func runList(ctx context.Context, o listOptions) error {
	all, err := o.everything(ctx, o.lister())
	return errors.Join(err, o.show(all))
}

func (o listOptions) show(all []runner.Sandbox) error {
	if o.Resources {
		o.costs(all)
	}
	return o.answer(listAnswer{schema, append([]runner.Sandbox{}, all...)}, o.table(all)...)
}

// costs says what the children take in all, for a child looks cheaper than it is.
func (o listOptions) costs(all []runner.Sandbox) {
	type sum struct {
		n            int
		memory, disk int64
	}
	of := map[string]sum{}
	for _, s := range all {
		if s.Parent != "" && o.forks(s.Backend) {
			c := of[s.Backend]
			of[s.Backend] = sum{c.n + 1, c.memory + s.Memory, c.disk + s.Disk}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		c := of[kind]
		how := "copied"
		if kind == "smolvm" {
			how = "shared until one of the two writes"
		}
		o.say("children on %s: %d, with %s of memory and %s of disk of their own; what a child has from its parent is %s",
			kind, c.n, size(c.memory), size(c.disk), how)
	}
}

func (o listOptions) lister() lister {
	if o.Resources {
		return withResources
	}
	return plainly
}

// table is the list for people: children indented below their sandbox.
func (o listOptions) table(all []runner.Sandbox) []string {
	head := []string{"NAME", "KEY", "STATE", "BACKEND", "AGE"}
	if o.Resources {
		head = append(head, "MEMORY", "SHARED", "DISK")
	}
	rows := [][]string{append(head, "WORKTREE")}
	for _, s := range all {
		name := s.Slug
		if s.Parent != "" {
			name = "  " + name
		}
		row := []string{name, s.Key, string(s.State), s.Backend, age(o.now().Sub(s.Created))}
		if o.Resources {
			row = append(row, size(s.Memory), size(s.Shared), size(s.Disk))
		}
		rows = append(rows, append(row, s.Worktree))
	}
	if len(all) == 0 {
		return nil
	}
	return columns(rows)
}

// columns pads all but the last column.
func columns(rows [][]string) []string {
	var out []string
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r[:len(r)-1] {
			width := 0
			for _, other := range rows {
				width = max(width, len(other[i]))
			}
			fmt.Fprintf(&b, "%-*s  ", width, cell)
		}
		out = append(out, b.String()+r[len(r)-1])
	}
	return out
}

// age is coarse on purpose: one unit tells a person enough.
func age(t time.Duration) string {
	switch t = max(t, 0); {
	case t < time.Minute:
		return fmt.Sprintf("%ds", int(t.Seconds()))
	case t < time.Hour:
		return fmt.Sprintf("%dm", int(t.Minutes()))
	case t < 48*time.Hour:
		return fmt.Sprintf("%dh", int(t.Hours()))
	}
	return fmt.Sprintf("%dd", int(t.Hours()/24))
}

func size(n int64) string {
	const k = 1024
	switch {
	case n < k:
		return fmt.Sprintf("%d B", n)
	case n < k*k:
		return fmt.Sprintf("%d KiB", n/k)
	case n < 10*k*k*k:
		return fmt.Sprintf("%d MiB", n/k/k)
	}
	return fmt.Sprintf("%d GiB", n/k/k/k)
}
