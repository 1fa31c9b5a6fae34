//go:build linux

package gvisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// TestMounts looks at folders of the host besides the worktree, from a parent and from its children.
func TestMounts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	base := filepath.Dir(p.worktree)
	rw, ro, own := filepath.Join(base, "rw"), filepath.Join(base, "ro"), filepath.Join(base, "own")
	for _, dir := range []string{rw, ro, filepath.Join(ro, "in"), own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(ro, "note"), []byte("host"), 0o644); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(base, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(there, "file"), []byte("file"), 0o644), os.Symlink("file", filepath.Join(there, "link"))); err != nil {
		t.Fatal(err)
	}
	s := p.start(t, runner.Spec{Mounts: []runner.Mount{
		{Source: rw, Target: "/nowhere/deep/in"}, // comes after the folder it lies in
		{Source: ro, Target: "/nowhere/deep", ReadOnly: true},
		{Source: own, Target: own},
		{Source: own, Target: filepath.Join(there, "a/b")},
		{Source: own, Target: filepath.Join(there, "c")},
	}})
	p.says(t, s, "", "echo parent >/nowhere/deep/in/parent; echo same >"+own+"/same")
	children := fork(t, s, runner.Private, 2)
	for _, c := range children {
		for _, q := range []struct{ line, want string }{
			{"cat /nowhere/deep/note", "host"},
			{"(echo x >/nowhere/deep/note) 2>/dev/null || echo refused", "refused"},
			{"cat /nowhere/deep/in/parent", "parent"},
			{"cat " + own + "/same", "same"},
			{"cat " + there + "/a/b/same " + there + "/c/same " + there + "/file " + there + "/link; ls " + there, "same\nsame\nfilefilea\nc\nfile\nlink"},
			{"ls -d /nowhere/deep /usr/bin/env /etc/passwd /tmp", "/etc/passwd\n/nowhere/deep\n/tmp\n/usr/bin/env"},
			{"echo child >/nowhere/deep/in/" + c.Slug + "; echo written", "written"},
		} {
			if got := p.says(t, s, c.Key, q.line); got != q.want {
				t.Errorf("%s: %s: got %q, want %q", c.Slug, q.line, got, q.want)
			}
		}
	}
	for _, path := range []string{"/nowhere", filepath.Join(there, "a"), filepath.Join(there, "c")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made on the host", path)
		}
	}
	for _, c := range children {
		if b, err := os.ReadFile(filepath.Join(rw, c.Slug)); err != nil || string(b) != "child\n" {
			t.Errorf("%s wrote %q, %v", c.Slug, b, err)
		}
		if got := p.says(t, s, "", "cat /nowhere/deep/in/"+c.Slug); got != "child" {
			t.Errorf("the parent reads %q of %s", got, c.Slug)
		}
	}
}

func TestMountsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.worktree, "file")
	p.write(t, "file", "")
	for _, m := range []runner.Mount{
		{Source: filepath.Join(p.worktree, "none"), Target: "/x"}, {Source: file, Target: "/x"}, {Source: "x", Target: "/x"},
		{Source: p.worktree, Target: "x"}, {Source: p.worktree, Target: "/"}, {Source: p.worktree, Target: "/a/../b"},
	} {
		spec := runner.Spec{Worktree: runner.Live, Dir: p.worktree, Env: p.env, Mounts: []runner.Mount{m}}
		if s, err := p.backend().Start(t.Context(), p.scope, spec, nil); runner.CauseOf(err) != runner.BackendFailed {
			t.Errorf("%+v: %v", m, err)
			if err == nil {
				s.Close()
			}
		}
	}
	p.nothingLeft(t)
}
