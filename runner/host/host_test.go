package host_test

import (
	"os"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/host"
)

func TestMain(m *testing.M) {
	if code, handled := host.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	base := t.TempDir()
	dirs := runner.Dirs{State: base + "/s", Runtime: base + "/r", Temp: base + "/t"}
	wt := t.TempDir()
	scope, err := runner.ScopeOf(wt)
	if err != nil {
		t.Fatal(err)
	}
	b := host.New(dirs)
	s, err := b.Start(t.Context(), scope, runner.Spec{Dir: wt}, func(s runner.Step) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Log(s.Cleanup(), s.Started())
	exit, err := s.Exec(t.Context(), "", runner.Command{Args: []string{"sh", "-c", "ps ax; id; pwd"}, Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr})
	t.Log(exit, err)
	all, err := s.List(t.Context())
	t.Log(all, err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
