//go:build linux

package gvisor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestHiddenPathsAreThoseThatExist(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	work := t.TempDir()
	mk := func(parts ...string) string {
		p := filepath.Join(parts...)
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ssh, kube := mk(home, ".ssh"), mk(home, ".kube")
	worktree, other := mk(work, "mine"), mk(work, "other")
	mk(worktree, ".git")
	mk(other, ".git")
	plain := mk(work, "plain") // no checkout
	secret := mk(home, "secret")

	got := hiddenPaths(hiding{worktree: worktree, homes: []string{home}, hide: []string{secret}, show: []string{kube}})
	for _, p := range []string{ssh, other, secret} {
		if !slices.Contains(got, p) {
			t.Errorf("%s is not hidden", p)
		}
	}
	for _, p := range []string{kube, worktree, plain, filepath.Join(home, ".aws")} {
		if slices.Contains(got, p) {
			t.Errorf("%s is hidden", p)
		}
	}
	if !slices.IsSorted(got) {
		t.Errorf("not sorted: %q", got)
	}
}

func TestRunnerFoldersAreFoundFromRunnerTemp(t *testing.T) {
	t.Parallel()
	runner := t.TempDir()
	temp := filepath.Join(runner, "_work", "_temp")
	for _, p := range []string{temp, filepath.Join(runner, "_diag")} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	credentials := filepath.Join(runner, ".credentials")
	if err := os.WriteFile(credentials, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := hiddenPaths(hiding{worktree: "/nowhere", runnerTemp: temp})
	for _, p := range []string{temp, credentials, filepath.Join(runner, "_diag")} {
		if !slices.Contains(got, p) {
			t.Errorf("%s is not hidden", p)
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/b/c", true}, {"/a/b", "/a/bc", false}, {"/a/b", "/a", false}, {"/", "/a", true},
	} {
		if got := contains(c.dir, c.path); got != c.want {
			t.Errorf("contains(%q, %q) = %v", c.dir, c.path, got)
		}
	}
}
