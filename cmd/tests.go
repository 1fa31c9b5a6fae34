package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard"
	"github.com/boxer-ci/boxer/shard/ledger"
	"github.com/boxer-ci/boxer/shard/units"
)

// tests reads the test list of the call, as far as it is known before the start. It gives nil for a call without one.
func (o *shardOptions) tests(f *config.Faults) *shard.Tests {
	s := o.scoped.Shard
	t := &shard.Tests{NUL: s.Null, Static: s.Static}
	key := o.listKey(f)
	var err error
	switch key {
	case "shard.tests":
		t.Names, err = o.globbed(s.Tests)
	case "shard.tests_from":
		t.Names, err = o.readList(s.TestsFrom, s.Null)
	case "shard.list":
		t.Lister = []string{"sh", "-c", s.List}
	}
	for _, e := range flatten(err) {
		if e != nil {
			fault(f, o.scoped.From(key), "%s", e)
		}
	}
	if err != nil && len(t.Names) == 0 {
		t.Names = []string{"none"} // told already
	}
	if s.RerunFailed != "" {
		t.Again = o.again(t, key, f)
	}
	if key == "" && t.Again == nil {
		if s.Static || s.Null {
			fault(f, "", "--static and --null say how a test list is dealt and read, and there is none: add --tests 'test/**/*.test.js'")
		}
		return nil
	}
	return t
}

// again takes the ledger of an earlier run, which is the list too where no other was given.
func (o *shardOptions) again(t *shard.Tests, key string, f *config.Faults) *ledger.Document {
	doc, err := ledger.Load(o.scoped.Shard.RerunFailed)
	if err != nil {
		fault(f, o.scoped.From("shard.rerun_failed"), "%s", err)
		return nil
	}
	if key == "" {
		for _, u := range doc.Units {
			t.Names = append(t.Names, u.Name)
		}
	}
	return &doc
}

// listKey is the setting that gives the list, "" if none does. What was typed wins over a variable, and that over the
// file; two of the same weight are a fault.
func (o *shardOptions) listKey(f *config.Faults) string {
	weight := func(source string) int {
		switch {
		case source == "" || source == "default":
			return 0
		case strings.HasPrefix(source, "--"):
			return 3
		case strings.HasPrefix(source, "BOXER_"):
			return 2
		}
		return 1
	}
	best := ""
	for _, key := range []string{"shard.tests", "shard.tests_from", "shard.list"} {
		is, was := weight(o.scoped.From(key)), weight(o.scoped.From(best))
		if is > 0 && is == was {
			fault(f, o.scoped.From(key), "there is a list already, from %s: give one of tests, tests-from and list", o.scoped.From(best))
		}
		if is > was {
			best = key
		}
	}
	return best
}

// globbed looks for the files of patterns, which are relative to the file's folder, and names them as the command sees
// them from the folder that it starts in.
func (o *shardOptions) globbed(patterns []string) ([]string, error) {
	names, err := units.Glob(o.scoped.Base, patterns)
	if o.scoped.Base == o.scoped.dir {
		return names, err
	}
	for i, name := range names {
		if rel, relErr := filepath.Rel(o.scoped.dir, filepath.Join(o.scoped.Base, name)); relErr == nil {
			names[i] = filepath.ToSlash(rel)
		}
	}
	return names, err
}

// readList reads a list from a file, or from stdin for "-".
func (o *shardOptions) readList(path string, nul bool) ([]string, error) {
	var in io.Reader = o.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	} else if o.In == nil {
		return nil, errors.New("there is no stdin to read the list from")
	}
	names, err := units.Parse(in, nul)
	if err == nil && len(names) == 0 {
		err = errors.New("the test list is empty")
	}
	return names, err
}

// oldReports are the JUnit reports that --timings-from names.
func (o *shardOptions) oldReports(f *config.Faults) []report.File {
	var files []report.File
	for _, pattern := range o.scoped.Shard.TimingsFrom {
		found, err := doublestar.FilepathGlob(filepath.Join(o.scoped.dir, pattern), doublestar.WithFilesOnly())
		if err == nil && len(found) == 0 {
			err = errors.New("no report there: " + pattern)
		}
		if err != nil {
			fault(f, o.scoped.From("shard.timings_from"), "%s", err)
		}
		for _, path := range found {
			files = append(files, report.File{Path: path, Name: path})
		}
	}
	return files
}

// dryRun prints what the run would do. Only a list that is made inside of the sandbox needs one.
func dryRun(ctx context.Context, o shardOptions) (err error) {
	var session runner.Session
	if t := o.run.Tests; t != nil && t.Lister != nil {
		if session, err = o.start(ctx, o.scoped, o.scoped.Shard.Worktree); err != nil {
			return at(err, o.scoped.scope)
		}
		defer func() { err = errors.Join(err, at(session.Close(), o.scoped.scope)) }()
	}
	plan, err := shard.DryRun(ctx, session, o.run)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	for _, w := range plan.Warnings {
		o.say("warning: %s", w)
	}
	return o.answer(plan, plan.Lines()...)
}
