//go:build linux

package gvisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// inHome are the places of a home folder that design section 9 names; a trailing slash is a folder.
var inHome = []string{
	".ssh/", ".aws/", ".azure/", ".config/gcloud/", ".gnupg/", ".kube/", ".docker/", ".config/gh/", ".git-credentials",
	".config/git/credentials", ".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".m2/settings.xml",
	".gradle/gradle.properties", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/", ".vault-token",
	".local/share/keyrings/", ".bash_history", ".zsh_history",
}

// TestHiddenPlaces plants a marker in every place that must be hidden and searches for it from a child, through the
// whole home folder, the folders beside the worktree, /tmp and boxer's own state.
func TestHiddenPlaces(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	base := filepath.Dir(p.worktree)
	home := filepath.Join(base, "home")
	const marker = "boxer-planted-secret"
	plant := func(path string) {
		t.Helper()
		if strings.HasSuffix(path, "/") {
			path = filepath.Join(path, "planted")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(marker), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, place := range inHome {
		path := filepath.Join(home, place)
		if strings.HasSuffix(place, "/") {
			path += "/"
		}
		plant(path)
	}
	plant(filepath.Join(home, "mine/also")) // named by the configuration
	plant(filepath.Join(base, "other/file"))
	runIn(t, filepath.Join(base, "other"), "git", "init", "-q")
	runIn(t, p.worktree, "git", "config", "http.https://example.com/.extraheader", marker)
	runIn(t, p.worktree, "git", "remote", "add", "origin", "https://"+marker+"@example.com/x.git")
	inTmp, err := os.CreateTemp("/tmp", "boxer-planted-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(inTmp.Name())
	inTmp.WriteString(marker)
	inTmp.Close()
	plant(filepath.Join(home, "visible")) // so that a search that finds nothing at all is noticed

	s := p.start(t, runner.Spec{Hide: []string{filepath.Join(home, "mine")}})
	plant(filepath.Join(home, ".aws/later")) // made when the folder was hidden already
	for _, w := range []runner.Worktree{runner.Live, runner.Private} {
		c := fork(t, s, w, 1)[0]
		out, _ := p.sh(t, s, c.Key, "grep -rl "+marker+" "+base+" /tmp /run 2>/dev/null")
		if want := filepath.Join(home, "visible"); out != want {
			t.Errorf("a child with the %s worktree finds the marker in\n%s\nwant only %s", w, out, want)
		}
		// A covered file is not there at all: an empty one would be an error to the programs that read it.
		if out, exit := p.sh(t, s, c.Key, "ls "+home+"/.m2/settings.xml "+home+"/.netrc"); exit.Code == 0 {
			t.Errorf("a covered file is there: %s", out)
		}
		if got := p.says(t, s, c.Key, "git config remote.origin.url"); got != "https://example.com/x.git" {
			t.Errorf("the address of origin is %q", got)
		}
	}
}

// TestShowTakesBack a hidden place by name.
func TestTmpIsAsOnAnyMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	if mode := p.says(t, s, "", "stat -c %a /tmp"); mode != "1777" {
		t.Errorf("/tmp has mode %s", mode)
	}
}

func TestShowTakesBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	home := filepath.Join(filepath.Dir(p.worktree), "home")
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("shown"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := p.start(t, runner.Spec{Show: []string{filepath.Join(home, ".npmrc")}})
	if got := p.says(t, s, "", "cat ~/.npmrc"); got != "shown" {
		t.Errorf("got %q", got)
	}
}

// TestLinkedWorktree: git works in a linked worktree, whose data lies in another checkout, and that checkout's files
// are hidden.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	runIn(t, p.worktree, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
	p.write(t, "secret", "of the main checkout")
	linked := filepath.Join(filepath.Dir(p.worktree), "linked")
	runIn(t, p.worktree, "git", "worktree", "add", "-q", linked)
	main := p.worktree
	p.worktree = linked
	var err error
	if p.scope, err = runner.ScopeOf(linked); err != nil {
		t.Fatal(err)
	}
	s := p.start(t, runner.Spec{})
	c := fork(t, s, runner.Private, 1)[0]
	if got := p.says(t, s, c.Key, "git -c safe.directory=* log --format=%s"); got != "first" {
		t.Errorf("git log says %q", got)
	}
	if out, exit := p.sh(t, s, c.Key, "cat "+main+"/secret"); exit.Code == 0 {
		t.Errorf("the main checkout can be read: %s", out)
	}
}

// TestPrivileges: an ordinary user's commands have no capability inside, so permissions are as on the host; root has
// what a container gives it, in the parent and in a child alike.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t, runner.Spec{})
	c := fork(t, s, runner.Private, 1)[0]
	want := "00000000a80405fb"
	if os.Getuid() != 0 {
		want = "0000000000000000"
	}
	for _, name := range []string{"", c.Key} {
		for _, set := range []string{"CapEff", "CapBnd"} {
			if got := p.says(t, s, name, "grep "+set+" /proc/self/status | cut -f2"); got != want {
				t.Errorf("%q: %s is %s, want %s", name, set, got, want)
			}
		}
	}
	if os.Getuid() == 0 {
		return
	}
	p.write(t, "closed", "x")
	if err := os.Chmod(filepath.Join(p.worktree, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if out, exit := p.sh(t, s, c.Key, "cat closed"); exit.Code == 0 {
		t.Errorf("a file of mode 000 can be read: %s", out)
	}
}
