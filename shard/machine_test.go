package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// machine is a backend in miniature: commands are real processes of this machine, a child is a copy of the worktree in
// a folder of its own. What it does not have is a boundary between them.
type machine struct {
	t     *testing.T
	base  string // the worktree
	scope runner.Scope

	mu       sync.Mutex
	folders  map[string]string // by key of the child
	groups   map[string][]int  // process groups that run in a child
	released bool
	kept     []string
	removals int

	failForks   int // so many forks fail
	failRemoves int // so many removals fail
	failCollect bool
	failClear   bool
	loseChildOf int // the command in this child ends with an error of the backend
	onFork      func(n int)
	made        int
}

// forking and sharing are the two kinds of sessions.
type forking struct{ *machine }
type sharing struct{ *machine }

func newMachine(t *testing.T) *machine {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, base: base, folders: map[string]string{}, groups: map[string][]int{}}
	m.scope = runner.Scope{Key: "sb-0123456789ab", Slug: "swift-crab", Worktree: base}
	t.Cleanup(m.checkNothingRuns)
	return m
}

// checkNothingRuns is part of every test: no process of a command outlives the run. One that was killed may take a
// moment to be gone.
func (m *machine) checkNothingRuns() {
	deadline := time.Now().Add(5 * time.Second)
	for key, groups := range m.groups {
		for _, g := range groups {
			for groupRuns(g) && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
			}
			if groupRuns(g) {
				m.t.Errorf("process group %d of %s still runs", g, key)
				syscall.Kill(-g, syscall.SIGKILL)
			}
		}
	}
}

// groupRuns looks for a process of the group that is not just waiting to be reaped by somebody else.
func groupRuns(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	if len(stats) == 0 {
		return true // no Linux
	}
	return slices.ContainsFunc(stats, func(path string) bool {
		b, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest) // state, parent, group
		return len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X"
	})
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m forking) Freeze(_ context.Context, o runner.ForkOptions) (runner.Source, error) {
	if o.Lasting {
		m.t.Error("the children of a run must not be lasting")
	}
	return source{m.machine, false}, nil
}

func (m sharing) Share(context.Context) (runner.Source, error) { return source{m.machine, true}, nil }

type source struct {
	m      *machine
	shared bool
}

func (s source) Have() []runner.Child { return nil }

func (s source) Release(context.Context) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.released = true
	return nil
}

func (s source) Fork(ctx context.Context) (runner.Child, error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return runner.Child{}, err
	}
	if m.failForks > 0 {
		m.failForks--
		return runner.Child{}, &runner.Error{Reason: "no memory for one more", Cause: runner.NoMemory, Fix: "boxer shard --count 1"}
	}
	m.made++
	child := m.scope.Child(m.made)
	folder := m.base
	if !s.shared {
		folder = m.t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(m.base)); err != nil {
			return child, err
		}
		m.keepTimes(folder)
	}
	m.folders[child.Key] = folder
	if m.onFork != nil {
		m.onFork(m.made)
	}
	return child, nil
}

// keepTimes gives the copies the times of the originals, as a real fork does.
func (m *machine) keepTimes(folder string) {
	filepath.WalkDir(m.base, func(path string, d fs.DirEntry, err error) error {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			rel, _ := filepath.Rel(m.base, path)
			os.Chtimes(filepath.Join(folder, rel), info.ModTime(), info.ModTime())
		}
		return nil
	})
}

func (m *machine) folder(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.folders[name]
	if !ok {
		return "", &runner.Error{Reason: name + " is gone", Cause: runner.Gone}
	}
	return f, nil
}

// inside maps a path of the worktree to that of the child.
func (m *machine) inside(folder, path string) string {
	return folder + strings.TrimPrefix(path, m.base)
}

func (m *machine) Exec(ctx context.Context, name string, c runner.Command) (runner.Exit, error) {
	folder, err := m.folder(name)
	if err != nil {
		return runner.Exit{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return runner.Exit{}, err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = m.inside(folder, c.Dir), c.Env
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.start(name, cmd); err != nil {
		return runner.Exit{}, m.notStarted(c.Args[0], err)
	}
	if m.loseChildOf > 0 && strings.HasSuffix(name, fmt.Sprintf("-f%d", m.loseChildOf)) {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		return runner.Exit{}, &runner.Error{Reason: name + " died", Cause: runner.Gone}
	}
	return m.wait(ctx, cmd, c.Grace)
}

// start holds the lock, so that a removal meets a command either not yet started or known.
func (m *machine) start(name string, cmd *exec.Cmd) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.folders[name] == "" {
		return errors.New(name + " is gone")
	}
	err := cmd.Start()
	if err == nil {
		m.groups[name] = append(m.groups[name], cmd.Process.Pid)
	}
	return err
}

func (m *machine) notStarted(program string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return (&runner.Error{Reason: program + " cannot be executed", Cause: runner.CommandNotExecutable}).Because(err)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return (&runner.Error{Reason: program + " is not found in PATH", Cause: runner.CommandNotFound}).Because(err)
	}
	return err
}

func (m *machine) wait(ctx context.Context, cmd *exec.Cmd, grace time.Duration) (runner.Exit, error) {
	if grace == 0 {
		grace = 2 * time.Second
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(grace):
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return runner.Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}, err
	}
	return runner.Exit{Code: status.ExitStatus()}, err
}

func (m *machine) Collect(ctx context.Context, name string, p runner.Pick, dest *os.Root) (runner.Collected, error) {
	var out runner.Collected
	if m.failCollect {
		return out, errors.New("the disk is full")
	}
	err := m.match(name, p, func(path, rel string, info fs.FileInfo) error {
		if info.ModTime().Before(p.Since) {
			return nil
		}
		if !info.Mode().IsRegular() {
			out.Skipped = append(out.Skipped, runner.Skipped{Path: rel, Reason: "symlink"})
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, rel)
		return errors.Join(dest.MkdirAll(filepath.Dir(rel), 0o755), dest.WriteFile(rel, data, 0o644))
	})
	slices.Sort(out.Files)
	return out, errors.Join(err, context.Cause(ctx))
}

func (m *machine) Clear(_ context.Context, name string, p runner.Pick) error {
	if m.failClear {
		return errors.New("read-only file system")
	}
	return m.match(name, p, func(path, _ string, info fs.FileInfo) error {
		if info.Mode().IsRegular() {
			return os.Remove(path)
		}
		return nil
	})
}

func (m *machine) match(name string, p runner.Pick, each func(path, rel string, info fs.FileInfo) error) error {
	folder, err := m.folder(name)
	if err != nil {
		return err
	}
	base := m.inside(folder, p.Base)
	return filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(base, path)
		info, err := d.Info()
		if err != nil || !slices.ContainsFunc(p.Patterns, func(g string) bool { return globRegexp(g).MatchString(rel) }) {
			return nil
		}
		return each(path, rel, info)
	})
}

// globRegexp knows as much of globs as the tests use.
func globRegexp(glob string) *regexp.Regexp {
	e := regexp.QuoteMeta(glob)
	e = strings.ReplaceAll(e, `\*\*/`, `(.*/)?`)
	e = strings.ReplaceAll(e, `\*\*`, `.*`)
	e = strings.ReplaceAll(e, `\*`, `[^/]*`)
	return regexp.MustCompile("^" + e + "$")
}

func (m *machine) Remove(_ context.Context, names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removals++
	if m.failRemoves > 0 {
		m.failRemoves--
		return errors.New("the keeper does not answer")
	}
	for _, name := range names {
		for _, g := range m.groups[name] {
			syscall.Kill(-g, syscall.SIGKILL)
		}
		delete(m.folders, name)
	}
	return nil
}

func (m *machine) Keep(_ context.Context, names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, names...)
	return nil
}

func (m *machine) List(context.Context) ([]runner.Sandbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []runner.Sandbox{{Key: m.scope.Key, Slug: m.scope.Slug, State: runner.Running}}
	for key := range m.folders {
		list = append(list, runner.Sandbox{Key: key, Parent: m.scope.Key, State: runner.Running})
	}
	return list, nil
}

func (m *machine) Down(context.Context) error { return errors.New("Run must not end the parent") }
func (m *machine) Started() bool              { return true }
func (m *machine) Cleanup() string            { return "best effort" }
func (m *machine) Close() error               { return nil }

// alive are the children that were not removed.
func (m *machine) alive() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for k := range m.folders {
		keys = append(keys, k)
	}
	return keys
}
