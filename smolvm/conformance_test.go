//go:build linux

package smolvm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/conformance"
	"github.com/boxer-ci/boxer/smolvm"
	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

// standIn is the stand-in for smolvm, built once.
var standIn string

func TestMain(m *testing.M) {
	for _, main := range []func([]string) (int, bool){smolvm.Main, conformance.Main} {
		if code, handled := main(os.Args); handled {
			os.Exit(code)
		}
	}
	code := 1
	func() {
		dir, err := os.MkdirTemp("", "smolvm-")
		if err == nil {
			defer os.RemoveAll(dir)
			standIn = filepath.Join(dir, "smolvm")
			err = smolvmtest.Build(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		code = m.Run()
	}()
	os.Exit(code)
}

// place is one test's folders, scope and smolvm.
type place struct {
	dirs  runner.Dirs
	scope runner.Scope
	data  string // the stand-in's own folder
	log   string // of all calls
	env   []string

	program string // the smolvm, which is the stand-in if nothing else is said
	shares  bool   // with others, who have machines there too
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "bs")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{data: base + "/d", log: base + "/calls", program: standIn}
	p.dirs = runner.Dirs{State: base + "/s", Runtime: base + "/r", Temp: base + "/t"}
	p.env = append(os.Environ(), "SMOLVM_DATA_DIR="+p.data, "SMOLVM_TEST_LOG="+p.log)
	worktree := filepath.Join(base, "w", ".git")
	if err := os.MkdirAll(worktree, 0o755); err != nil {
		t.Fatal(err)
	}
	if p.scope, err = runner.ScopeOf(filepath.Dir(worktree)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(worktree); err != nil { // the worktree is empty: questions look at what is in it
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.nothingRuns(t)
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	return p
}

// nothingRuns takes away what a test left and says so.
func (p *place) nothingRuns(t *testing.T) {
	t.Helper()
	for _, m := range p.machines(t) {
		t.Errorf("the machine %s is left", m)
		p.smolvm(t, "machine", "delete", "--name", m, "--force", "--cascade")
	}
}

// withImage has what the real program has and the questions' own specs do not ask for: an image.
type withImage struct {
	*smolvm.Backend
	image  string
	memory int // MiB; 0 is smolvm's own default
}

func (b withImage) Start(ctx context.Context, s runner.Scope, spec runner.Spec, progress func(runner.Step)) (runner.Session, error) {
	spec.Machine.Image, spec.Machine.Network, spec.Machine.Memory = b.image, true, b.memory
	return b.Backend.Start(ctx, s, spec, progress)
}

func (b withImage) StartPacked(ctx context.Context, s runner.Scope, spec runner.Spec, from runner.PackStream, progress func(runner.Step)) (runner.Session, error) {
	spec.Machine.Image, spec.Machine.Network, spec.Machine.Memory = b.image, true, b.memory
	return b.Backend.StartPacked(ctx, s, spec, from, progress)
}

func (p *place) backend() *smolvm.Backend {
	b := smolvm.New(p.dirs)
	b.Program, b.Env = p.program, p.env
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Harness {
		p := newPlace(t)
		return p.harness(withImage{Backend: p.backend(), image: "node:22"})
	})
}

func (p *place) harness(b withImage) conformance.Harness {
	return conformance.Harness{
		Backend: b, Dirs: p.dirs, Scope: p.scope, User: "nobody", Relayed: true, OneKind: true,
		Differs: map[string]string{
			"a later source sees a later state":                                      "smolvm captures the parent when the child is branched, not when the source is taken",
			"private files that lie below children keep commands out":                "a child's disk is a copy-on-write one of the moment of its branch: nothing of the parent's lies below it",
			"a pack leaves the sandbox as it is and takes none of the hidden places": "smolvm packs a machine that is stopped, and it has the image's files and not the host's",
			"a pack is refused where a sandbox runs":                                 "the machine was stopped for the pack; the scripts and the tests of this package ask the rest",
		},
	}
}
