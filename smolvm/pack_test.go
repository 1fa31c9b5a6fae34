//go:build linux

package smolvm_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm"
)

// packed stops the session's sandbox and packs it.
func packed(t *testing.T, s runner.Session) ([]byte, runner.Packed) {
	t.Helper()
	if err := s.(runner.Halter).Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	p, err := s.(runner.Packer).Pack(t.Context(), &stream)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Bytes(), p
}

func TestPackAsksSmolvmForItsOwn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	spec := runner.Spec{Machine: runner.MachineConfig{Image: "node:22", CPUs: 2, Memory: 1024, Network: true, Setup: []string{"echo line >>/var/tmp/lines"}}}
	s := p.session(t, spec)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	exit, err := s.Exec(t.Context(), "", runner.Command{ // with an input, so that its environment becomes a note in the machine
		Args: []string{"true"}, Env: []string{"PATH=" + os.Getenv("PATH"), "TOKEN=of-nobodys-business"}, Stdin: null,
	})
	if err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	stream, got := packed(t, s)
	if got.Root.Entries != 1 || got.Root.Bytes == 0 || got.Root.Bytes > int64(len(stream)) || got.Spec.Env != nil || got.Spec.Machine.CPUs != 2 {
		t.Errorf("%+v of %d bytes", got, len(stream))
	}
	if bytes.Contains(stream, []byte("of-nobodys-business")) {
		t.Error("the environment of a command is in the pack")
	}
	left, _ := filepath.Glob(filepath.Join(p.dirs.Temp, "*", "pack-*"))
	if err := errors.Join(s.Down(t.Context()), s.Close()); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	spec.Dir, spec.Env, spec.Worktree = p.scope.Worktree, []string{"PATH=" + os.Getenv("PATH")}, runner.Live
	again, err := p.backend().StartPacked(t.Context(), p.scope, spec, runner.PackStream{From: bytes.NewReader(stream)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if lines := p.sh(t, again, "", "cat /var/tmp/lines"); lines != "line" {
		t.Errorf("the machine's own setup ran again: %q", lines)
	}
	left, _ = filepath.Glob(filepath.Join(p.dirs.Temp, "*", "pack-*"))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	var calls []string
	for _, c := range p.calls(t, "create") {
		calls = append(calls, strings.Join(c.Args, " "))
	}
	want := [][]string{
		{"machine create --name " + p.scope.Key, "--image node:22", "--cpus 2 --mem 1024 --net"},
		{"pack create --from-vm " + p.scope.Key + " -o " + p.dirs.Temp},
		{"machine create --name " + p.scope.Key, "--label boxer.scope=" + p.scope.Key, "-v " + p.scope.Worktree, "--from " + p.dirs.Temp, "--cpus 2 --mem 1024 --net -- sh -c"},
	}
	calls = slices.CompactFunc(calls, func(a, b string) bool { return a == b }) // a call's begin and its end
	if len(calls) != len(want) {
		t.Fatalf("calls: %q", calls)
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(calls[i], part) {
				t.Errorf("call %d is %q, without %q", i, calls[i], part)
			}
		}
	}
	if strings.Contains(calls[2], "--image") {
		t.Errorf("%q: smolvm takes no image beside a pack", calls[2])
	}
}

func TestPackOfWhatSmolvmCannotPack(t *testing.T) {
	t.Parallel()
	for fault, cause := range map[string]runner.Cause{
		"pack:fail=agent operation failed: injected": runner.BackendFailed,
		"pack:garbage": runner.BackendFailed, // it says that all went well
		"pack:kill":    runner.BackendFailed,
		"pack:after=config operation failed: pack: VM 'x' is running. Stop it first with: smolvm machine stop --name x": runner.MustBeStopped,
		"pack:fail=No space left on device": runner.NoSpace,
		"stop:fail":                         runner.BackendFailed,
		"stop:after":                        runner.BackendFailed,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env = append(p.env, "SMOLVM_TEST_FAULT="+fault)
			s := p.session(t, runner.Spec{})
			err := s.(runner.Halter).Halt(t.Context())
			var stream bytes.Buffer
			if err == nil {
				_, err = s.(runner.Packer).Pack(t.Context(), &stream)
			}
			if runner.CauseOf(err) != cause || stream.Len() > 0 {
				t.Errorf("%v, and %d bytes", err, stream.Len())
			}
			left, _ := filepath.Glob(filepath.Join(p.dirs.Temp, "*", "pack-*"))
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if err := s.Down(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPackNeedsAMachineThatIsStoppedAndAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.session(t, runner.Spec{})
	var none bytes.Buffer
	refused := func(what string, err error, cause runner.Cause) {
		t.Helper()
		if runner.CauseOf(err) != cause {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.(runner.Packer).Pack(t.Context(), &none)
	refused("a running one", err, runner.MustBeStopped)
	source, err := s.(runner.Forker).Freeze(t.Context(), runner.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	child, err := source.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused("one with a child", s.(runner.Halter).Halt(t.Context()), runner.IsBusy)
	p.smolvm(t, "machine", "stop", "--name", child.Key)
	refused("one with a dead child", s.(runner.Halter).Halt(t.Context()), "")
	_, err = source.Fork(t.Context())
	refused("a fork of a stopped one", err, runner.Gone)
	refused("to stop it twice", s.(runner.Halter).Halt(t.Context()), "")
	_, err = p.backend().StartPacked(t.Context(), p.scope, runner.Spec{
		Dir: p.scope.Worktree, Env: []string{"PATH=" + os.Getenv("PATH")}, Worktree: runner.Live,
	}, runner.PackStream{From: &none}, nil)
	refused("to start one where it still is", err, runner.AlreadyRunning)
	if none.Len() > 0 {
		t.Errorf("%d bytes", none.Len())
	}
	if err := s.Down(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartPackedRefusesWhatNoPackOfItsHas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := p.backend().StartPacked(t.Context(), p.scope, runner.Spec{Worktree: runner.Private}, runner.PackStream{}, nil)
	if runner.CauseOf(err) != runner.PackUnfit {
		t.Error(err)
	}
	var _ runner.Unpacker = &smolvm.Backend{}
}
