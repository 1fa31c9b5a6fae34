package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/cmd/initial"
	"github.com/boxer-ci/boxer/runner"
)

type initOptions struct {
	deps
	Kind   string // "" takes the most likely one
	DryRun bool
}

func newInit(d deps, run func(context.Context, initOptions) error) *cobra.Command {
	o := initOptions{deps: d}
	c := &cobra.Command{
		Use: "init", Short: "Write a boxer.yaml for the project in this folder",
		Long: "Looks at the files of this folder, finds out how its tests are run, and writes a boxer.yaml that splits them, with\n" +
			"comments for what may be added. One that is there already is never touched.\n\n" +
			"Kinds: " + strings.Join(initial.Kinds(), ", ") + ". other is a draft to fill in.",
		Example: "  boxer init --dry-run\n  boxer init -C services/api --kind pytest",
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the file and write nothing")
	c.Flags().StringVar(&o.Kind, "kind", "", "write it for this `kind` of tests, where there are several or none is found")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		noArgs(args, f)
		if kinds := initial.Kinds(); o.Kind != "" && !slices.Contains(kinds, o.Kind) {
			fault(f, "--kind", "%q is not one of %s%s", o.Kind, strings.Join(kinds, ", "), config.Meant(o.Kind, kinds))
		}
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// initAnswer is the document of init --json.
type initAnswer struct {
	Schema  int         `json:"schema"`
	Kind    string      `json:"kind"`
	File    string      `json:"file"` // absolute
	Written bool        `json:"written"`
	Text    string      `json:"text"`   // of the file
	Before  string      `json:"before"` // what to run on the machine before boxer, "" is nothing
	Found   []foundKind `json:"found"`  // all kinds that this folder has, the most likely first
}

type foundKind struct {
	Kind string `json:"kind"`
	By   string `json:"by"` // what it was recognised by
}

func runInit(_ context.Context, o initOptions) error {
	dir, err := o.dir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, config.FileName)
	if _, err := os.Lstat(path); err == nil && !o.DryRun {
		return exists(path)
	}
	found, err := initial.Detect(os.DirFS(dir))
	if err != nil && o.Kind != "other" {
		return (&runner.Error{Reason: "the project cannot be looked at", Cause: "NO_PROJECT", Fix: "boxer init --kind other"}).Because(err)
	}
	plan, err := o.choose(dir, found)
	if err != nil {
		return err
	}
	doc := initAnswer{schema, plan.Kind, path, false, plan.YAML(), plan.Before, []foundKind{}}
	for _, p := range found {
		doc.Found = append(doc.Found, foundKind{p.Kind, p.By})
	}
	if o.DryRun {
		return o.answer(doc, strings.TrimSuffix(doc.Text, "\n"))
	}
	if err := writeNew(path, doc.Text); err != nil {
		return err
	}
	doc.Written = true
	o.tellInit(dir, plan, found)
	return o.answer(doc, filepath.Join(o.call.dir, config.FileName))
}

// choose takes the plan that is asked for, else the most likely one.
func (o initOptions) choose(dir string, found []initial.Plan) (initial.Plan, error) {
	if o.Kind == "other" {
		return initial.Other(), nil
	}
	for _, p := range found {
		if o.Kind == "" || p.Kind == o.Kind {
			return p, nil
		}
	}
	e := &runner.Error{Reason: "no tests of a known kind were found in " + dir, Cause: "NO_PROJECT", Fix: "boxer init --kind other"}
	if o.Kind != "" {
		e.Reason = fmt.Sprintf("no tests of the kind %s were found in %s", o.Kind, dir)
	}
	if others := o.elsewhere(dir); len(others) > 0 && len(found) == 0 {
		e.Fix = "boxer init -C " + others[0]
		e.Output = append([]string{"there are projects in:"}, others...)
	} else if len(found) > 0 {
		e.Fix = "boxer init --kind " + found[0].Kind
	}
	return initial.Plan{}, e
}

// elsewhere are folders with tests of a known kind, as typed from here: the ones above, to the root of the worktree,
// then those below.
func (o initOptions) elsewhere(dir string) []string {
	scope, err := o.here()
	if err != nil {
		return nil
	}
	var out []string
	add := func(folder string) {
		found, err := initial.Detect(os.DirFS(folder))
		rel, relErr := filepath.Rel(dir, folder)
		if err == nil && relErr == nil && len(found) > 0 && len(out) < 10 {
			out = append(out, rel)
		}
	}
	for d := dir; d != scope.Worktree && d != filepath.Dir(d); {
		d = filepath.Dir(d)
		add(d)
	}
	for _, pattern := range []string{"*", "*/*"} {
		below, _ := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		for _, d := range below {
			if info, err := os.Stat(d); err == nil && info.IsDir() && !strings.Contains(d[len(dir):], "/.") && !strings.Contains(d, "node_modules") {
				add(d)
			}
		}
	}
	return out
}

func exists(path string) error {
	return &runner.Error{
		Reason: path + " is there already, and is never overwritten", Cause: "CONFIG_EXISTS", Fix: "boxer init --dry-run",
	}
}

// writeNew writes a file that must not be there, whole or not at all.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err == nil {
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(path)
		}
	}
	if err != nil {
		return (&runner.Error{Reason: path + " could not be written", Cause: "OUTPUT", Fix: "boxer init --dry-run"}).Because(err)
	}
	return nil
}

// tellInit says what was found, and what to do next.
func (o initOptions) tellInit(dir string, plan initial.Plan, found []initial.Plan) {
	o.say("wrote %s for %s (%s)", config.FileName, plan.Kind, plan.By)
	for _, p := range found {
		if p.Kind != plan.Kind {
			o.say("%s was found too (%s): boxer init --kind %s --dry-run prints its file", p.Kind, p.By, p.Kind)
		}
	}
	if scope, err := o.here(); err == nil && dir != scope.Worktree {
		for d := filepath.Dir(dir); ; d = filepath.Dir(d) {
			if above := filepath.Join(d, config.FileName); fileThere(above) {
				o.say("it counts from here downward, in place of %s", above)
				break
			}
			if d == scope.Worktree || d == filepath.Dir(d) {
				break
			}
		}
	}
	for _, n := range plan.Notes {
		o.say("%s", n)
	}
	next := "boxer shard"
	if plan.Kind == "other" {
		next = "write its command, then boxer shard"
	} else if plan.Before != "" {
		next = plan.Before + ", then boxer shard"
	}
	o.say("next: %s", next)
}

func fileThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
