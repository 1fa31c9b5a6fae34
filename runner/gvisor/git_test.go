//go:build linux

package gvisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGitConfigWithoutCredentials(t *testing.T) {
	t.Parallel()
	const config = `[core]
	bare = false
[remote "origin"]
	url = https://user:s3cret@example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[http "https://example.com/"]
	extraheader = AUTHORIZATION: basic s3cret
[credential "https://example.com"]
	helper = store
	username = s3cret
[sendemail]
	smtpPass = s3cret
[user]
	name = A
`
	const want = `[core]
	bare = false
[remote "origin"]
	url = https://example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[http "https://example.com/"]
[sendemail]
[user]
	name = A
`
	if got := string(withoutCredentials([]byte(config))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCommonGitDir(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, linked := filepath.Join(dir, "main"), filepath.Join(dir, "linked")
	git(t, dir, "init", "-q", main)
	git(t, main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, main, "worktree", "add", "-q", linked)
	for _, c := range []struct{ worktree, want string }{
		{main, ""}, {linked, filepath.Join(main, ".git")}, {dir, ""},
	} {
		if got, err := commonGitDir(c.worktree); err != nil || got != c.want {
			t.Errorf("commonGitDir(%s) = %q, %v; want %q", c.worktree, got, err, c.want)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
