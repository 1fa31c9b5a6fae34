//go:build linux

package smolvm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

// session starts a sandbox, which goes at the end of the test.
func (p *place) session(t *testing.T, spec runner.Spec) runner.Session {
	t.Helper()
	spec.Dir, spec.Env = p.scope.Worktree, []string{"PATH=" + os.Getenv("PATH")}
	if spec.Worktree == "" {
		spec.Worktree = runner.Live
	}
	s, err := p.backend().Start(t.Context(), p.scope, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sh runs a line that must succeed and returns its output.
func (p *place) sh(t *testing.T, s runner.Session, name, line string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	exit, err := s.Exec(t.Context(), name, runner.Command{
		Args: []string{"/bin/sh", "-c", line}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: f,
	})
	text, _ := os.ReadFile(out)
	if err != nil || exit.Code != 0 {
		t.Fatalf("%s: %+v, %v\n%s", line, exit, err, text)
	}
	return strings.TrimSpace(string(text))
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.scope.Worktree, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *place) calls(t *testing.T, verb string) []smolvmtest.Call {
	t.Helper()
	all, err := smolvmtest.ReadLog(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(c smolvmtest.Call) bool { return len(c.Args) < 2 || c.Args[1] != verb })
}

func TestCreationSaysWhatTheConfigurationAsksFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	common := filepath.Join(filepath.Dir(p.scope.Worktree), "main", ".git")
	if err := os.MkdirAll(filepath.Join(common, "worktrees", "w"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(common, "worktrees", "w", "commondir"), []byte("../..\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".git", "gitdir: "+filepath.Join(common, "worktrees", "w")+"\n")
	p.write(t, "installed", "")
	s := p.session(t, runner.Spec{Worktree: runner.Private, Machine: runner.MachineConfig{
		Image: "node:22", CPUs: 3, Memory: 777, Network: true, Setup: []string{"echo here >installed"},
	}})
	got := strings.Join(p.calls(t, "create")[0].Args, " ")
	for _, want := range []string{
		"--name " + p.scope.Key, "--label boxer.scope=" + p.scope.Key, "--label boxer.worktree=" + p.scope.Worktree, "--label boxer.spec=",
		"-v " + p.scope.Worktree + ":/mnt/boxer/worktree:ro", "-v " + common + ":" + common + ":ro", "--image node:22", "--cpus 3", "--mem 777",
		"--net", "-- sh -c while :; do sleep 3600; done",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Contains(got, "staged") {
		t.Error("a staged mount")
	}
	if got := p.calls(t, "start")[0].Args; !slices.Equal(got, []string{"machine", "start", "--name", p.scope.Key, "--branchable"}) {
		t.Errorf("%q", got)
	}
	if got := p.sh(t, s, "", "cat installed"); got != "here" {
		t.Errorf("smolvm.setup wrote %q", got)
	}
	if b, _ := os.ReadFile(filepath.Join(p.scope.Worktree, "installed")); len(b) > 0 {
		t.Error("and it is on the host")
	}
}

// What changed on the host since the last time, and nothing else, is brought into the parent's copy; what only the
// copy has stays.
func TestPrivateWorktreeIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, text := range map[string]string{"same": "1", "changed": "1", "goes": "1", "d/deep": "1", "node_modules/x": "host"} {
		p.write(t, name, text)
	}
	if err := os.Symlink("same", filepath.Join(p.scope.Worktree, "link")); err != nil {
		t.Fatal(err)
	}
	s := p.session(t, runner.Spec{Worktree: runner.Private, Machine: runner.MachineConfig{Exclude: []string{"node_modules"}}})
	p.sh(t, s, "", "rm -rf node_modules; mkdir node_modules; echo guest >node_modules/x; echo own >own; echo mine >same; readlink link")
	p.write(t, "changed", "22")
	p.write(t, "d/new", "2")
	p.write(t, "node_modules/x", "host again")
	if err := os.Remove(filepath.Join(p.scope.Worktree, "goes")); err != nil {
		t.Fatal(err)
	}
	src, err := s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{Worktree: runner.Private})
	if err != nil {
		t.Fatal(err)
	}
	c, err := src.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := p.sh(t, s, c.Key, "cat changed d/new node_modules/x own same link d/deep; ls goes 2>&1 | grep -c cannot")
	if want := "222guest\nown\nmine\nmine\n11"; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("the child has %q, want %q", got, want)
	}
	p.sh(t, s, c.Key, "echo child >changed")
	if b, _ := os.ReadFile(filepath.Join(p.scope.Worktree, "changed")); string(b) != "22" {
		t.Errorf("the host has %q", b)
	}
}

// A program that never ends is told, and what was begun is removed.
func TestACallThatHangsIsTold(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"create:hang", "branch:hang"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env = append(p.env, "SMOLVM_TEST_FAULT="+fault)
			b := p.backend()
			b.Limit = 4 * time.Second
			s, err := b.Start(t.Context(), p.scope, runner.Spec{Worktree: runner.Live, Dir: p.scope.Worktree}, nil)
			if err == nil {
				var src runner.Source
				if src, err = s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{}); err == nil {
					_, err = src.Fork(t.Context())
				}
				if closeErr := s.Close(); closeErr != nil {
					t.Error(closeErr)
				}
			}
			if runner.CauseOf(err) != runner.BackendFailed || !strings.Contains(err.Error(), "did not end within 4s") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Machines of boxer's that no record tells of are reclaimed, those of others are not.
func TestGarbage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	b := p.backend()
	s, err := b.Start(t.Context(), p.scope, runner.Spec{Worktree: runner.Live, Dir: p.scope.Worktree}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := b.ReclaimAll(t.Context(), false)
	if err != nil || len(found.Items)+len(found.Skipped) > 0 {
		t.Errorf("what is in order: %+v, %v", found, err)
	}
	p.smolvm(t, "machine", "create", "--name", "mine", "--label", "boxer.scope="+p.scope.Key, "--label", "boxer.state=another")
	p.smolvm(t, "machine", "branch", "--from", p.scope.Key, "--name", p.scope.Key+"-f7")
	for _, dry := range []bool{true, false} {
		found, err = b.ReclaimAll(t.Context(), dry)
		if err != nil || len(found.Items) != 1 || found.Items[0].Name != p.scope.Key+"-f7" {
			t.Errorf("a child that nobody knows, dry %v: %+v, %v", dry, found, err)
		}
	}
	if err := os.RemoveAll(p.scope.Worktree); err != nil {
		t.Fatal(err)
	}
	found, err = b.ReclaimAll(context.Background(), false)
	if err != nil || len(found.Items) != 1 || found.Items[0].Reason != "its worktree is gone" {
		t.Errorf("without a worktree: %+v, %v", found, err)
	}
	if left := p.machines(t); !slices.Equal(left, []string{"mine"}) {
		t.Errorf("left: %q", left)
	}
	p.smolvm(t, "machine", "delete", "--name", "mine", "--force")
}

// A machine of the sandbox's name that boxer did not make is refused and left alone.
func TestANameThatIsTakenIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.smolvm(t, "machine", "create", "--name", p.scope.Key)
	_, err := p.backend().Start(t.Context(), p.scope, runner.Spec{Worktree: runner.Live, Dir: p.scope.Worktree}, nil)
	if runner.CauseOf(err) != "NAME_TAKEN" {
		t.Errorf("%v", err)
	}
	if !slices.Equal(p.machines(t), []string{p.scope.Key}) {
		t.Errorf("%q", p.machines(t))
	}
	p.smolvm(t, "machine", "delete", "--name", p.scope.Key, "--force")
}
