//go:build linux

package keeper

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
)

// gc does a round and gives it in one word per thing, the skipped ones with a dash in front.
func (c Config) gc(t *testing.T, dry bool) ([]string, error) {
	t.Helper()
	found, err := ReclaimAll(t.Context(), c.Dirs, dry)
	var out []string
	for _, g := range found.Items {
		out = append(out, g.Kind+" "+g.Name)
	}
	for _, g := range found.Skipped {
		out = append(out, "-"+g.Kind+" "+g.Name+": "+g.Reason)
	}
	return out, err
}

// round is gc for a round in which nothing fails.
func (c Config) round(t *testing.T, want ...string) {
	t.Helper()
	got, err := c.gc(t, false)
	if err != nil {
		t.Error(err)
	}
	is(t, got, want...)
}

// stand starts a process that stands in for a keeper.
func stand(t *testing.T) runner.Process {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Kill(); err != nil {
			t.Errorf("it was ended: %v", err)
		}
		c.Wait()
	})
	p, err := identify(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leave makes what a keeper of the owner would have left: record, folder with a setup file, and a socket at which
// nobody listens.
func (c Config) leave(t *testing.T, scope runner.Scope, owner runner.Process) setup {
	t.Helper()
	set, err := c.setup(scope)
	if err != nil {
		t.Fatal(err)
	}
	set.Owner = owner
	if err := errors.Join(c.Dirs.Make(), c.store().Put(set.Record), os.Mkdir(set.Dir, 0o700), set.write()); err != nil {
		t.Fatal(err)
	}
	l, err := listen(set.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for listened(set.Socket) { // a program that another test is just starting may have it still
		time.Sleep(time.Millisecond)
	}
	return set
}

// other is the scope of one more folder, which goes with the test.
func other(t *testing.T) runner.Scope {
	t.Helper()
	scope, err := runner.ScopeOf(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestAnOwnerIsMoreThanANumber(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	lives := stand(t)
	for _, row := range []struct {
		what   string
		change func(*runner.Process)
	}{
		{"another process has the number", func(p *runner.Process) { p.Start = "1" }},
		{"the machine was started anew", func(p *runner.Process) { p.Boot = "another" }},
		{"nobody has the number", func(p *runner.Process) { p.PID = 1 << 30 }},
	} {
		owner := lives
		row.change(&owner)
		c.leave(t, scope, owner)
		if got, err := c.gc(t, true); err != nil || len(got) != 1 {
			t.Errorf("%s: a dry run found %q, %v", row.what, got, err)
		}
		c.round(t, "sandbox "+scope.Slug)
		c.left(t)
		c.round(t)
	}
}

func TestAKeeperThatDoesNotAnswerIsNotTouched(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, stand(t))
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.Contains(got[0], "lives and does not answer; boxer down --scope "+scope.Key) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(scope.Worktree); err != nil {
		t.Fatal(err)
	}
	got, err = c.gc(t, false)
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != notReclaimed || e.Fix != "boxer down --scope "+scope.Key || len(got) != 0 {
		t.Errorf("its worktree is gone: %q, %#v", got, err)
	}
	if _, err := readSetup(set.Dir); err != nil {
		t.Error(err)
	}
}

func TestAKeeperOfAnotherVersionCannotBeAsked(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	downs := old(t, c, scope)
	c.round(t)
	if err := os.Remove(scope.Worktree); err != nil {
		t.Fatal(err)
	}
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.Contains(got[0], "another version of boxer") || len(downs) != 0 {
		t.Errorf("%q, %v, %d", got, err, len(downs))
	}
	if err := c.Down(t.Context(), scope); err != nil {
		t.Error(err)
	}
}

func TestAKeeperThatCannotBeSeenButAnswersIsNotTouched(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, runner.Process{PID: 1 << 30}) // as a container sees it that shares the folders
	if err := os.Remove(set.Socket); err != nil {
		t.Fatal(err)
	}
	l, err := listen(set.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "-sandbox "+scope.Slug+": its keeper answers") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := readSetup(set.Dir); err != nil {
		t.Error(err)
	}
}

func TestAScopeWhoseLockIsHeldIsSkipped(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	gone := runner.Process{PID: 1 << 30}
	set := c.leave(t, scope, gone)
	next := other(t)
	c.leave(t, next, gone)
	unlock, err := c.store().Lock(scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	c.round(t, "sandbox "+next.Slug, "-sandbox "+scope.Slug+": somebody is just starting or ending it")
	if _, err := os.Stat(set.Dir); err != nil {
		t.Error(err)
	}
	unlock()
	c.round(t, "sandbox "+scope.Slug)
	c.left(t)
}

func TestSeveralAtOnceTakeEverythingOnce(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	held := start(t, c, scope, runner.Spec{})
	var want []string
	for range 8 {
		scope := other(t)
		c.leave(t, scope, runner.Process{PID: 1 << 30})
		want = append(want, "sandbox "+scope.Slug)
	}
	lasting := other(t)
	s := start(t, c, lasting, runner.Spec{})
	if err := errors.Join(s.Keep(t.Context()), s.Close(), os.Remove(lasting.Worktree)); err != nil {
		t.Fatal(err)
	}
	want = append(want, "sandbox "+lasting.Slug)
	var mu sync.Mutex
	var got []string
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			some, err := c.gc(t, false)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, some...)
		})
	}
	all.Wait()
	slices.Sort(got)
	slices.Sort(want)
	is(t, got, want...)
	is(t, states(t, held), "running")
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	c.left(t)
}

func TestWhatCannotBeRemovedIsToldAndTheRestGoes(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	gone := runner.Process{PID: 1 << 30}
	set := c.leave(t, scope, gone)
	if err := unix.Mount("none", set.Dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting needs CAP_SYS_ADMIN (run as root): %v", err)
	}
	mounted := true
	defer func() {
		if mounted {
			unix.Unmount(set.Dir, unix.MNT_DETACH)
		}
	}()
	next := other(t)
	c.leave(t, next, gone)
	got, err := c.gc(t, false)
	is(t, got, "sandbox "+next.Slug)
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != notReclaimed || e.Fix != "umount "+set.Dir || !strings.Contains(e.Reason, scope.Slug) {
		t.Errorf("%#v", err)
	}
	mounted = unix.Unmount(set.Dir, 0) != nil // as the fix says
	c.round(t, "sandbox "+scope.Slug)
	c.left(t)
}

func TestARecordThatIsNoneIsTakenAway(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, runner.Process{PID: 1 << 30})
	spoil := func(text string) {
		if err := os.WriteFile(c.store().Path(scope.Key), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil(`{"scope":`)
	c.round(t, "folder "+filepath.Base(set.Dir), "record "+scope.Key)
	c.left(t)

	// One that names a folder which boxer does not make is not believed.
	precious := t.TempDir()
	spoil(`{"scope":{"key":"` + scope.Key + `"},"dir":"` + precious + `","socket":"/nowhere"}`)
	got, err := c.gc(t, false)
	e, ok := errors.AsType[*runner.Error](err)
	if len(got) != 0 || !ok || e.Fix != "rm "+c.store().Path(scope.Key) {
		t.Errorf("%q, %#v", got, err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestWhoStartedAFolderKeepsIt(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, stand(t))
	if err := c.store().Delete(scope.Key); err != nil {
		t.Fatal(err)
	}
	got, err := c.gc(t, false)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "-folder "+filepath.Base(set.Dir)+": process ") {
		t.Errorf("%q, %v", got, err)
	}
	set.Owner.PID = 1 << 30
	if err := set.write(); err != nil {
		t.Fatal(err)
	}
	c.round(t, "folder "+filepath.Base(set.Dir))
	c.left(t)
}

func TestASetupFileThatWasTamperedWithIsNotBelieved(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*setup){
		func(s *setup) { s.Socket = precious },
		func(s *setup) { s.Dir = filepath.Dir(precious) },
	} {
		set := c.leave(t, scope, runner.Process{PID: 1 << 30})
		in := set.Dir
		change(&set)
		text, err := json.Marshal(set)
		if err := errors.Join(err, c.store().Delete(scope.Key), os.WriteFile(filepath.Join(in, setupFile), text, 0o600)); err != nil {
			t.Fatal(err)
		}
		got, err := c.gc(t, false)
		if err != nil || slices.ContainsFunc(got, func(g string) bool { return !strings.HasPrefix(g, "-folder ") }) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestAProbesFolders(t *testing.T) {
	t.Parallel()
	c, _ := newConfig(t)
	if err := c.Dirs.Make(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	make := func(name string) string {
		path := filepath.Join(c.Dirs.Temp, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"probe-123", "probe-x"} {
		if err := os.Chtimes(make(name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	make("probe-45")
	full := make("probe-67")
	if err := errors.Join(os.WriteFile(filepath.Join(full, "x"), nil, 0o600), os.Chtimes(full, old, old)); err != nil {
		t.Fatal(err)
	}
	set, err := c.setup(runner.Scope{Key: probeKey})
	if err != nil {
		t.Fatal(err)
	}
	set.Owner.Start = "1"
	if err := errors.Join(os.Mkdir(set.Dir, 0o700), set.write()); err != nil {
		t.Fatal(err)
	}
	c.round(t, "folder "+filepath.Base(set.Dir), "folder probe-123")
	for _, name := range []string{"probe-x", "probe-45", "probe-67"} {
		if err := os.RemoveAll(filepath.Join(c.Dirs.Temp, name)); err != nil {
			t.Error(err)
		}
	}
	c.left(t)
}

func TestFoldersThatOthersCanEnterAreNotLookedAt(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, runner.Process{PID: 1 << 30})
	if err := os.Chmod(c.Dirs.Temp, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := c.gc(t, false); len(got) != 0 || runner.CauseOf(err) != "UNSAFE_FOLDER" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(set.Dir); err != nil {
		t.Error(err)
	}
}

func TestTheSetupFileGoesLast(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	set := c.leave(t, scope, runner.Process{PID: 1 << 30})
	if err := os.MkdirAll(filepath.Join(set.Dir, "images", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(c.Dirs.Temp)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := empty(root, filepath.Base(set.Dir)); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(set.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != setupFile {
		t.Errorf("%v, %v", entries, err)
	}
}
