package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/conformance"
	"github.com/boxer-ci/boxer/runner/host"
)

func TestMain(m *testing.M) {
	if code, handled := conformance.Main(os.Args); handled {
		os.Exit(code)
	}
	if code, handled := host.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) conformance.Harness {
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
	dirs := runner.Dirs{State: filepath.Join(base, "state"), Runtime: filepath.Join(base, "run"), Temp: filepath.Join(base, "temp")}
	h := conformance.Harness{Backend: host.New(dirs), Dirs: dirs, Scope: scope}
	if os.Getuid() == 0 {
		h.User = "nobody"
	}
	return h
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, open)
}
