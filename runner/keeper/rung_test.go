package keeper

import (
	"os"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestMain(m *testing.M) {
	if code, handled := Main(os.Args, "fake", nil); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestRungs(t *testing.T) {
	base := t.TempDir()
	dirs := runner.Dirs{State: base + "/s", Runtime: base + "/r", Temp: base + "/t"}
	dirs.Make()
	for _, bare := range []bool{false, true} {
		c := Config{Kind: "fake", Dirs: dirs, Bare: bare}
		for _, r := range ladder(bare, 0) {
			set, err := c.setup(runner.Scope{Key: "x"})
			if err != nil {
				t.Fatal(err)
			}
			set.Probe = true
			set.Rung = r
			s, err := try(t.Context(), set)
			t.Log(bare, r, s, err)
		}
	}
}
