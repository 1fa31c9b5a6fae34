package host_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/conformance"
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/runner/keeper"
)

func TestMain(m *testing.M) {
	if code, handled := conformance.Main(os.Args); handled {
		os.Exit(code)
	}
	if code, handled := host.Main(os.Args); handled {
		os.Exit(code)
	}
	if filepath.Base(os.Args[0]) == clientName {
		os.Exit(client(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// place is a worktree and boxer's folders, all fresh.
type place struct {
	dirs  runner.Dirs
	scope runner.Scope
}

func newPlace(t *testing.T) place {
	t.Helper()
	return placeIn(t, t.TempDir())
}

func placeIn(t *testing.T, base string) place {
	t.Helper()
	worktree := filepath.Join(base, "work")
	if err := os.MkdirAll(worktree, 0o755); err != nil {
		t.Fatal(err)
	}
	scope, err := runner.ScopeOf(worktree)
	if err != nil {
		t.Fatal(err)
	}
	return place{dirsIn(base), scope}
}

func dirsIn(base string) runner.Dirs {
	return runner.Dirs{State: filepath.Join(base, "state"), Runtime: filepath.Join(base, "run"), Temp: filepath.Join(base, "temp")}
}

func (p place) spec() runner.Spec {
	return runner.Spec{Worktree: runner.Live, Dir: p.scope.Worktree, Env: env()}
}

func env() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=/"} }

func open(from keeper.Rung) func(t *testing.T) conformance.Harness {
	return func(t *testing.T) conformance.Harness {
		p := newPlace(t)
		h := conformance.Harness{Backend: host.New(p.dirs).From(from), Dirs: p.dirs, Scope: p.scope}
		if os.Getuid() == 0 {
			h.User = "nobody"
		}
		return h
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, open(0))
}

func TestConformanceSupervised(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the same questions as on the first rung: leave out -short")
	}
	conformance.Run(t, open(keeper.Bare))
}

// TestAsOrdinaryUser runs this package's tests once more as somebody who has no privilege at all.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the tests run as an ordinary user already: run them as root to have both")
	}
	exe, home := forStrangers(t)
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.short", "-test.timeout=8m")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyInParticular, Gid: nobodyInParticular}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("cleanup: ")) || bytes.HasPrefix(line, []byte("--- ")) {
			t.Logf("%s", bytes.TrimSpace(line))
		}
	}
}

const nobodyInParticular = 12345

// forStrangers puts the test binary, and a home, where an ordinary user can reach them.
func forStrangers(t *testing.T) (exe, home string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "boxer-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe = filepath.Join(dir, "host.test")
	copyFile(t, exe)
	home = filepath.Join(dir, "home")
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, nobodyInParticular, nobodyInParticular)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return exe, home
}

// TestWhereNamespacesAreRefused takes away what a container, or a careful machine, takes away.
func TestWhereNamespacesAreRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root on Linux to take things away from others: run as root")
	}
	for _, tool := range []string{"unshare", "setpriv", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: install util-linux", err)
		}
	}
	exe, home := forStrangers(t)
	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	const user = "exec setpriv --reuid 12345 --regid 12345 --clear-groups "
	for name, how := range map[string][]string{
		"a masked proc":      {"unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc/irq && " + user + `"$0" "$@"`},
		"no user namespaces": {"unshare", "-Ur", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all --inh-caps -all "$0" "$@"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(how[1:], exe, "-test.v", "-test.run=^TestCleanupIsFoundByDoing$|^TestAKilledClientLeavesNothing$")
			cmd := exec.CommandContext(t.Context(), how[0], args...)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("here it is supervised")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func copyFile(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, b *host.Backend, p place) runner.Session {
	t.Helper()
	s, err := b.Start(t.Context(), p.scope, p.spec(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func output(t *testing.T, s runner.Session, line string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	exit, err := s.Exec(t.Context(), "", runner.Command{Args: []string{"/bin/sh", "-c", line}, Env: env(), Stdout: w})
	w.Close()
	b, readErr := io.ReadAll(r)
	if err != nil || readErr != nil || exit.Code != 0 {
		t.Fatalf("%s: %+v, %v, %v, %q", line, exit, err, readErr, b)
	}
	return strings.TrimSpace(string(b))
}

func TestWhoAmIDoesNotChange(t *testing.T) {
	t.Parallel()
	want, err := exec.Command("id", "-u").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, rung := range []keeper.Rung{0, keeper.UserNamespaces, keeper.Bare} {
		p := newPlace(t)
		s := start(t, host.New(p.dirs).From(rung), p)
		if got := output(t, s, "id -u"); got != strings.TrimSpace(string(want)) {
			t.Errorf("uid %s on rung %q", got, rung)
		}
		if runtime.GOOS == "linux" && os.Getuid() != 0 {
			if got := output(t, s, "grep ^Cap[IPEA] /proc/self/status | sort -u -k2"); strings.Count(got, "\n") > 0 {
				t.Errorf("a command has capabilities on rung %q:\n%s", rung, got)
			}
		}
	}
}

func TestCleanupIsFoundByDoing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := host.New(p.dirs)
	probed, err := b.Cleanup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("here it is %s", probed)
	if s := start(t, b, p); s.Cleanup() != probed {
		t.Errorf("probed %s, got %s", probed, s.Cleanup())
	}
	if runtime.GOOS == "linux" {
		p = newPlace(t)
		if s := start(t, host.New(p.dirs).From(keeper.Bare), p); s.Cleanup() != "supervised" {
			t.Error(s.Cleanup())
		}
	}
}

func TestMountsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	spec := p.spec()
	spec.Mounts = []runner.Mount{{Source: p.scope.Worktree, Target: "/x"}}
	s, err := host.New(p.dirs).Start(t.Context(), p.scope, spec, nil)
	if runner.CauseOf(err) != runner.Unsupported {
		t.Errorf("the error is %v", err)
	}
	if err == nil {
		s.Close()
	}
}
