//go:build linux

package keeper

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// much is more than any pipe holds.
var much = strings.Repeat("a changed file ", 100_000)

func (f *fake) Pack(ctx context.Context, w io.Writer) (runner.Packed, error) {
	if f.told("no-pack") {
		return runner.Packed{}, errors.New("no pack today")
	}
	_, err := io.WriteString(w, much)
	return runner.Packed{Root: runner.PackCount{Entries: 1}, LeftOut: []string{"/secret"}}, err
}

// BootPacked leaves what it got where the test finds it.
func (f *fake) BootPacked(ctx context.Context, spec runner.Spec, from runner.PackStream) (runner.Machine, error) {
	if f.told("no-unpack") {
		return nil, errors.New("no start today")
	}
	b, err := io.ReadAll(from.From)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.env.Scope.Worktree, "received"), b, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return f.Boot(ctx, spec)
}

func startPacked(t *testing.T, c Config, scope runner.Scope, spec runner.Spec, from io.Reader) (*Session, error) {
	t.Helper()
	s, err := c.StartPacked(t.Context(), scope, spec, runner.PackStream{From: from, Size: int64(len(much))}, nil)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func TestPackGoesToItsCaller(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	spec := runner.Spec{Dir: scope.Worktree, Env: []string{"TOKEN=secret"}, Setup: []runner.SetupStep{{Run: "true"}}}
	s := PackSession{start(t, c, scope, spec)}
	var got bytes.Buffer
	packed, err := s.Pack(t.Context(), &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != much {
		t.Errorf("%d bytes, want %d", got.Len(), len(much))
	}
	if packed.Spec.Hash() != spec.Hash() || packed.Spec.Env != nil || packed.Root.Entries != 1 || len(packed.LeftOut) != 1 {
		t.Errorf("%+v", packed)
	}
}

func TestPackThatFails(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := PackSession{start(t, c, scope, runner.Spec{})}
	tell(t, scope, "no-pack")
	if _, err := s.Pack(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "no pack today") {
		t.Errorf("the engine's error: %v", err)
	}
	full := errors.New("the disk is full")
	if _, err := s.Pack(t.Context(), failing{full}); !errors.Is(err, full) {
		t.Errorf("the caller's own error: %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	began := time.Now()
	if _, err := s.Pack(ctx, ending{func() { cancel(why) }}); !errors.Is(err, why) || time.Since(began) > lateTime {
		t.Errorf("an end in the middle: %v after %s", err, time.Since(began))
	}
	if _, err := s.Pack(t.Context(), io.Discard); err != nil {
		t.Errorf("once more: %v", err)
	}
	tell(t, scope, "dead-0")
	if _, err := s.Pack(t.Context(), io.Discard); runner.CauseOf(err) != runner.Gone {
		t.Errorf("a dead parent: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// ending is a writer whose caller gives up at the first byte.
type ending struct{ end func() }

func (e ending) Write(b []byte) (int, error) { e.end(); return len(b), nil }

func TestStartPacked(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s, err := startPacked(t, c, scope, runner.Spec{}, strings.NewReader(much))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(scope.Worktree, "received")); string(got) != much {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if !s.Started() {
		t.Error("not started")
	}
	if _, err := startPacked(t, c, scope, runner.Spec{}, strings.NewReader(much)); runner.CauseOf(err) != runner.AlreadyRunning {
		t.Errorf("a second time: %v", err)
	}
	again, err := c.Start(t.Context(), scope, runner.Spec{}, nil)
	if err != nil || again.Started() {
		t.Fatalf("the first is not found: %v", err)
	}
	again.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.left(t)
}

func TestStartPackedThatFails(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	tell(t, scope, "no-unpack") // nobody reads the stream, and nobody may wait for that
	if _, err := startPacked(t, c, scope, runner.Spec{}, strings.NewReader(much)); err == nil || !strings.Contains(err.Error(), "no start today") {
		t.Errorf("the engine's error: %v", err)
	}
	broken := &runner.Error{Reason: "the pack is damaged", Cause: runner.PackDamaged}
	from := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if _, err := startPacked(t, c, scope, runner.Spec{}, from); runner.CauseOf(err) != runner.PackDamaged {
		t.Errorf("the stream's error: %v", err)
	}
	c.left(t)
}
