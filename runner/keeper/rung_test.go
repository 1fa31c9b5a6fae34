package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestMain(m *testing.M) {
	if code, handled := Main(os.Args, "fake", newFake); handled {
		os.Exit(code)
	}
	if code, handled := Main(os.Args, "refusing", func(Env) (Engine, error) { return nil, errRefusal }); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

var errRefusal = &runner.Error{Reason: "this engine never starts", Cause: runner.BackendUnavailable, Fix: "true"}

func newConfig(t *testing.T) (Config, runner.Scope) {
	t.Helper()
	base := t.TempDir()
	worktree := filepath.Join(base, "work")
	if err := os.Mkdir(worktree, 0o755); err != nil {
		t.Fatal(err)
	}
	scope, err := runner.ScopeOf(worktree)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Kind: "fake", Bare: true, Dirs: runner.Dirs{
		State: filepath.Join(base, "state"), Runtime: filepath.Join(base, "run"), Temp: filepath.Join(base, "temp"),
	}}, scope
}

func (c Config) left(t *testing.T) {
	t.Helper()
	for _, dir := range []string{c.Dirs.Temp, c.Dirs.Runtime, filepath.Join(c.Dirs.State, "scopes")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		for _, e := range entries {
			t.Errorf("%s is left in %s", e.Name(), dir)
		}
	}
}

func TestLadder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bare bool
		from Rung
		want []Rung
	}{
		{false, 0, []Rung{Namespaces, UserNamespaces, Mounts, UserMounts}},
		{true, 0, []Rung{Namespaces, UserNamespaces, Bare}},
		{false, Mounts, []Rung{Mounts, UserMounts}},
		{true, Mounts, []Rung{Bare}},
		{false, Bare, nil},
	} {
		if got := ladder(row.bare, row.from); !slices.Equal(got, row.want) {
			t.Errorf("bare %v from %q: %v", row.bare, row.from, got)
		}
	}
}

// TestEveryRungHoldsOrSaysWhy asks each rung of this machine; as root on a machine of one's own all of them hold, and
// a run of the tests as an ordinary user tells about the others.
func TestEveryRungHoldsOrSaysWhy(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		for _, r := range ladder(bare, 0) {
			c, scope := newConfig(t)
			if err := c.Dirs.Make(); err != nil {
				t.Fatal(err)
			}
			c.Bare = bare
			set, err := c.setup(scope)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(set.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			set.Probe, set.Rung = true, r
			s, err := try(t.Context(), set)
			if err != nil {
				t.Logf("%v", err)
				if _, ok := errors.AsType[errRung](err); !ok || r == Bare {
					t.Errorf("%s: %v", r, err)
				}
				continue
			}
			s.conn.Close()
			if s.cleanup != cleanupOf(r) {
				t.Errorf("%s says %s", r, s.cleanup)
			}
			if err := waitEnd(t.Context(), s.owner); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	c, _ := newConfig(t)
	cleanup, err := c.Probe(t.Context())
	if err != nil || cleanup == "" {
		t.Errorf("%q, %v", cleanup, err)
	}
	c.left(t)
}

func TestAnEngineThatRefusesIsHeard(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	c.Kind = "refusing"
	_, err := c.Start(t.Context(), scope, runner.Spec{}, nil)
	if runner.CauseOf(err) != runner.BackendUnavailable || !strings.Contains(err.Error(), errRefusal.Reason) {
		t.Error(err)
	}
	c.left(t)
}

func TestWhereNoRungHoldsTheRefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	c.Bare, c.From = false, Bare // no rung at all
	_, err := c.Start(t.Context(), scope, runner.Spec{}, nil)
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != runner.BackendUnavailable || (e.Fix == "" && runtime.GOOS == "linux") {
		t.Errorf("%#v", err)
	}
	c.left(t)
}

func TestAProgramThatDiesAtOnceIsTold(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	c.Exe, c.From = "/bin/false", Bare
	_, err := c.Start(t.Context(), scope, runner.Spec{}, nil)
	if runner.CauseOf(err) != runner.BackendFailed {
		t.Error(err)
	}
	c.left(t)
}
