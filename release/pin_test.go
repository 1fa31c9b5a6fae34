package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAssign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an empty value", "a:\n  V: \"\" # none yet\nW: \"1\"\n", "a:\n  V: \"beef\" # none yet\nW: \"1\"\n"},
		{"an older value", "V: '0123'\n", "V: \"beef\"\n"},
		{"a comment that names it", "# V: \"\"\nV: \"\"", "# V: \"\"\nV: \"beef\""},
		{"none", "W: \"\"\n", ""},
		{"two", "V: \"\"\nV: \"\"\n", ""},
		{"without quotes", "V:\n", ""},
	} {
		got, err := assign(c.text, "V", "beef")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
	}
}

// TestPin writes what sha256sum takes, and the variables of the template where there is one.
func TestPin(t *testing.T) {
	t.Parallel()
	const sums = "aa11  boxer_1.2.3_linux_amd64.tar.gz\nbb22  boxer_1.2.3_linux_arm64.tar.gz\ncc33  boxer_1.2.3_darwin_arm64.tar.gz\n"
	root := t.TempDir()
	for _, dir := range []string{"release", "examples/gitlab"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{Version: "1.2.3", Commit: hash, Root: root, Targets: targets, Story: t.Output()}
	if err := r.pin(sums); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, pins))
	if err != nil || !strings.HasPrefix(string(got), "# SHA-256 of the archives of v1.2.3, built from "+hash+" by "+runtime.Version()+".\n") || !strings.HasSuffix(string(got), "\n"+sums) {
		t.Errorf("%q (%v)", got, err)
	}
	file := filepath.Join(root, template)
	const version = "    version:\n      description: x\n      default: "
	if err := os.WriteFile(file, []byte(version+"0.1.0\n  BOXER_SHA256_LINUX_AMD64: \"\"\n  BOXER_SHA256_LINUX_ARM64: \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.pin(sums); err != nil {
		t.Fatal(err)
	}
	got, err = os.ReadFile(file)
	if want := version + "1.2.3\n  BOXER_SHA256_LINUX_AMD64: \"aa11\"\n  BOXER_SHA256_LINUX_ARM64: \"bb22\"\n"; err != nil || string(got) != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// TestTemplateCanBePinned: the files of this repository are as pin wants them.
func TestTemplateCanBePinned(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join("..", pins)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join("..", template))
	if err != nil {
		t.Fatal(err)
	}
	switch pinned, err := defaultVersion(string(text), "9.8.7"); {
	case err != nil:
		t.Error(err)
	case strings.Count(pinned, "      default: 9.8.7\n") != 1 || len(pinned) != len(text):
		t.Error("not one default was changed")
	}
	for _, variable := range []string{"BOXER_SHA256_LINUX_AMD64", "BOXER_SHA256_LINUX_ARM64"} {
		if _, err := assign(string(text), variable, "00"); err != nil {
			t.Error(err)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE=1600000000 +0000", "GIT_AUTHOR_DATE=1500000000 +0000")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "x")
	head := git("rev-parse", "HEAD")
	for _, c := range []struct {
		name, version, commit, epoch string
		dirty                        bool
		want                         string
		seconds                      int64
	}{
		{"the commit's own time", "0.1.0", "", "", false, head, 1600000000},
		{"another time", "0.1.0-rc.1", "", "17", false, head, 17},
		{"a commit that is given", "0.1.0", hash, "17", true, hash, 17},
		{"changes that no commit has", "0.1.0", "", "", true, "", 0},
		{"a version with v", "v0.1.0", "", "", false, "", 0},
		{"no version", "", "", "", false, "", 0},
		{"a time that is none", "0.1.0", hash, "yesterday", false, "", 0},
	} {
		os.Remove(filepath.Join(root, "new"))
		if c.dirty {
			if err := os.WriteFile(filepath.Join(root, "new"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := &release{Version: c.version, Commit: c.commit, Root: root}
		err := r.identify(t.Context(), c.epoch)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: no error, but %+v", c.name, r)
			}
			continue
		}
		if err != nil || r.Commit != c.want || !r.Time.Equal(time.Unix(c.seconds, 0)) {
			t.Errorf("%s: %+v (%v)", c.name, r, err)
		}
	}
}
