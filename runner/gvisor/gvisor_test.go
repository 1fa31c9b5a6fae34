//go:build linux

package gvisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/conformance"
	"github.com/boxer-ci/boxer/runner/gvisor"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// ordinary is the user id that the tests become where they run as root; it needs no entry in the user database.
const ordinary = 12345

// program is the real boxer, built once: the test binary itself may have been built with cgo, which gVisor refuses.
var program string

func TestMain(m *testing.M) {
	if code, handled := conformance.Main(os.Args); handled {
		os.Exit(code)
	}
	if program = os.Getenv("BOXER_TEST_PROGRAM"); program != "" { // the run as an ordinary user
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("/var/tmp", "boxer-gvisor-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		program = filepath.Join(dir, "boxer")
		build := exec.Command("go", "build", "-o", program, "github.com/boxer-ci/boxer/cmd/boxer")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build boxer:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestAsOrdinaryUser runs this package's tests once more without root: of the conformance suite the questions where
// that makes a difference.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("this is the run as an ordinary user")
		return
	}
	dir, err := os.MkdirTemp("/var/tmp", "boxer-gvisor-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "gvisor.test")
	copyFile(t, os.Args[0], self)
	if err := errors.Join(os.Chown(dir, ordinary, ordinary), os.Chmod(self, 0o755)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.v", "-test.timeout=20m", "-test.parallel=2",
		"-test.run=Test/(exec|child|mount)")
	c.Dir = dir
	c.Env = append(os.Environ(), "BOXER_TEST_PROGRAM="+program, "HOME="+dir, "TMPDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("--- PASS: Test")); n < 10 {
		t.Fatalf("only %d tests passed\n%s", n, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// place is a worktree of its own with boxer's folders beside it.
type place struct {
	dirs     runner.Dirs
	scope    runner.Scope
	worktree string
	env      []string
	rung     keeper.Rung
}

func newPlace(t testing.TB) place {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "bxg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("a run left what cannot be removed: %v", err)
		}
	})
	worktree, home := filepath.Join(base, "tree"), filepath.Join(base, "home")
	for _, dir := range []string{worktree, home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runIn(t, worktree, "git", "init", "-q")
	scope, err := runner.ScopeOf(worktree)
	if err != nil {
		t.Fatal(err)
	}
	return place{
		dirs:  runner.Dirs{State: filepath.Join(base, "s"), Runtime: filepath.Join(base, "r"), Temp: filepath.Join(base, "t")},
		scope: scope, worktree: worktree,
		env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home},
	}
}

func runIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func (p place) backend() *gvisor.Backend {
	b := gvisor.New(p.dirs)
	b.Exe, b.From = program, p.rung
	return b
}

// start brings the scope's sandbox up and takes it down at the end of the test, which then looks for leftovers.
func (p place) start(t testing.TB, spec runner.Spec) runner.Session {
	t.Helper()
	spec.Dir, spec.Env = p.worktree, p.env
	if spec.Worktree == "" {
		spec.Worktree = runner.Live
	}
	s, err := p.backend().Start(t.Context(), p.scope, spec, nil)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, p.log())
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Down(ctx); err != nil {
			t.Errorf("down: %v", err)
		}
		p.nothingLeft(t)
	})
	return s
}

func (p place) log() string {
	logs, _ := filepath.Glob(filepath.Join(p.dirs.Temp, "*", "keeper.log"))
	var all []byte
	for _, l := range logs {
		b, _ := os.ReadFile(l)
		all = append(all, b...)
	}
	return string(all)
}

// nothingLeft looks for processes, mounts and files of the place.
func (p place) nothingLeft(t testing.TB) {
	t.Helper()
	base := filepath.Dir(p.worktree)
	for _, dir := range []string{p.dirs.Temp, p.dirs.Runtime, filepath.Join(p.dirs.State, "scopes")} {
		left, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		for _, l := range left {
			t.Errorf("left in %s: %s", dir, l.Name())
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(base)) {
		t.Errorf("mounts left (%v)", err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if b, _ := os.ReadFile(l); bytes.Contains(b, []byte(base)) {
			t.Errorf("process left: %s", bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
		}
	}
}

// fork makes n children that the session owns.
func fork(t testing.TB, s runner.Session, w runner.Worktree, n int) []runner.Child {
	t.Helper()
	src, err := s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{Worktree: w})
	if err != nil {
		t.Fatalf("freeze: %v", err)
	}
	children := make([]runner.Child, n)
	errs := make(chan error, n)
	for i := range children {
		go func() {
			var err error
			children[i], err = src.Fork(t.Context())
			errs <- err
		}()
	}
	for range children {
		if err := <-errs; err != nil {
			t.Fatalf("fork: %v", err)
		}
	}
	if err := src.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return children
}

// sh runs a shell line in a sandbox and returns its output.
func (p place) sh(t *testing.T, s runner.Session, name, line string) (string, runner.Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		var b bytes.Buffer
		b.ReadFrom(r)
		got <- strings.TrimSpace(b.String())
	}()
	exit, err := s.Exec(t.Context(), name, runner.Command{Args: []string{"sh", "-c", line}, Env: p.env, Stdout: w, Stderr: w})
	w.Close()
	out := <-got
	r.Close()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out, exit
}

// says is sh for a line that must exit 0.
func (p place) says(t *testing.T, s runner.Session, name, line string) string {
	t.Helper()
	out, exit := p.sh(t, s, name, line)
	if exit.Code != 0 {
		t.Fatalf("%s: exit code %d\n%s", line, exit.Code, out)
	}
	return out
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.worktree, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// names lists the worktree on the host, less .git.
func (p place) names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(p.worktree)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != ".git" {
			names = append(names, e.Name())
		}
	}
	return names
}

var redis = runner.Service{Name: "redis", Run: "redis-server --port 6379 --save ''", Ready: "redis-cli ping | grep -q PONG"}

// TestLowerRungs runs on the rungs of the keeper's ladder that have no PID namespace, as in an ordinary container.
func TestLowerRungs(t *testing.T) {
	t.Parallel()
	for _, rung := range []keeper.Rung{keeper.Mounts, keeper.UserMounts} {
		if rung == keeper.Mounts && os.Getuid() != 0 {
			continue // mounting without a user namespace is root's
		}
		t.Run(rung.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.rung = rung
			s := p.start(t, runner.Spec{Services: []runner.Service{redis}})
			if got := s.Cleanup(); got != "supervised" {
				t.Errorf("cleanup is %q", got)
			}
			p.says(t, s, "", "redis-cli set who parent")
			for _, c := range fork(t, s, runner.Private, 2) {
				if got := p.says(t, s, c.Key, "redis-cli get who"); got != "parent" {
					t.Errorf("%s sees %q", c.Slug, got)
				}
			}
		})
	}
}
