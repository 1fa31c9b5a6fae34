package shard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// dealt notes that the attempt's units are about to run and puts them into its command. Where the command takes them
// from a file, it is made, and its path returned.
func (r *run) dealt(ctx context.Context, a *attempt, command []string) (withThem []string, file string, err error) {
	r.given(a)
	batch := unitsOf(a.jobs)
	if wantsFile(command) {
		end := "\n"
		if r.options.Tests.NUL {
			end = "\x00"
		}
		var list strings.Builder
		for _, u := range batch {
			list.WriteString(u.Name + end)
		}
		if file, err = r.writeList(ctx, a, list.String()); err != nil {
			return nil, file, fmt.Errorf("write the list of tests: %w", err)
		}
	}
	return withUnits(command, batch, file), file, nil
}

// writeList makes the file. In a child of its own /tmp is its own; where all share one machine, boxer has a place for
// it that it also cleans up.
func (r *run) writeList(ctx context.Context, a *attempt, list string) (string, error) {
	if r.shares() {
		name := fmt.Sprintf(".shard-%d.tests", a.number)
		return filepath.Join(r.dir.path, name), r.dir.write(name, []byte(list))
	}
	path := fmt.Sprintf("/tmp/boxer-tests.%s.%d.%d", a.child.Slug, a.batch, a.try)
	in, w, err := os.Pipe()
	if err != nil {
		return path, err
	}
	defer in.Close()
	go func() {
		w.WriteString(list) // who does not read it all fails by itself
		w.Close()
	}()
	exit, err := r.session.Exec(ctx, a.child.Key, runner.Command{
		Args: []string{"sh", "-c", `cat >"$0"`, path}, Dir: "/", User: r.options.User, Env: r.options.Env, Stdin: in,
	})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s cannot be written: exit code %d", path, exit.Code)
	}
	return path, err
}

// forgetList removes a list from the report folder. In a child it goes with the child.
func (r *run) forgetList(file string) {
	if file != "" && filepath.Dir(file) == r.dir.path {
		r.dir.root.Remove(filepath.Base(file))
	}
}
