package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

func pair(t *testing.T) (*wire.Conn, *wire.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return wire.New(a), wire.New(b)
}

func TestFramesKeepBodiesFilesAndOrder(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 5<<20)
	go func() {
		a.Send(wire.KindRequest, big)
		a.Send(wire.KindSignal, 2)
		a.Send(wire.KindRequest, "with files", w, w, w)
		a.Send(wire.KindRequest, "end")
		a.CloseWrite()
	}()
	for i, want := range []any{big, 2, "with files", "end"} {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		var text string
		var number int
		if i == 1 {
			err = f.Decode(&number)
		} else {
			err = f.Decode(&text)
		}
		got := any(text)
		if i == 1 {
			got = number
		}
		if err != nil || got != want {
			t.Fatalf("frame %d: %.20v, %v", i, got, err)
		}
		if files := map[int]int{2: 3}[i]; f.Files() != files {
			t.Errorf("frame %d brought %d files, not %d", i, f.Files(), files)
		}
		if i == 2 {
			w.Close()
			file, err := f.TakeFile("w")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(file, "hello")
			file.Close()
			f.Close() // the two that were not taken: else there is no end of file
			if got, err := io.ReadAll(r); err != nil || string(got) != "hello" {
				t.Errorf("%q, %v", got, err)
			}
		}
	}
	if _, err := b.Receive(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := b.Send(wire.KindAnswer, 1); err != nil {
		t.Error(err) // only one half is closed
	}
	if _, err := a.Receive(); err != nil {
		t.Error(err)
	}
}

func TestBytesThatAreNoTextPass(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	type command struct{ Args []string }
	want := command{[]string{"\xff\xfe\x00", ""}}
	go a.Send(wire.KindRequest, want)
	f, err := b.Receive()
	if err != nil {
		t.Fatal(err)
	}
	var got command
	if err := f.Decode(&got); err != nil || !slices.Equal(got.Args, want.Args) {
		t.Errorf("%q, %v", got, err)
	}
	go a.Reply(want, errors.New("and an error"))
	if f, err = b.Receive(); err != nil {
		t.Fatal(err)
	}
	var answer wire.Answer
	if err := f.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	got = command{}
	if err := answer.Read(&got); err == nil || err.Error() != "and an error" || !slices.Equal(got.Args, want.Args) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHalfAFrameIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, half := range [][]byte{{0}, {0, 0, 0, 9, 0, 0, 0, 1}, {0, 0, 0, 9, 0, 0, 0, 1, '"'}} {
		a, b := pair(t)
		a.Unix().Write(half)
		a.Close()
		if _, err := b.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v: %v", half, err)
		}
	}
	a, b := pair(t)
	a.Unix().Write(bytes.Repeat([]byte{0xff}, 8))
	if _, err := b.Receive(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("4 GiB were accepted: %v", err)
	}
}

func TestErrorsArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	inner := (&runner.Error{
		Reason: "service db was not ready", Cause: runner.ServiceNotReady, Scope: "s", Worktree: "/w", Fix: "boxer doctor",
		Output: []string{"a", "b"},
	}).Because(context.DeadlineExceeded)
	for _, sent := range []error{inner, fmt.Errorf("prepare: %w", inner), errors.Join(errors.New("x"), inner)} {
		got := wire.EncodeError(sent).Decode()
		e, ok := errors.AsType[*runner.Error](got)
		if !ok || got.Error() != sent.Error() || e.Cause != inner.Cause || e.Scope != "s" || e.Worktree != "/w" ||
			e.Fix != inner.Fix || len(e.Output) != 2 {
			t.Errorf("%#v", got)
		}
	}
	if got := wire.EncodeError(errors.New("plain")).Decode(); got.Error() != "plain" || runner.CauseOf(got) != "" {
		t.Errorf("%#v", got)
	}
	if got := wire.EncodeError(nil).Decode(); got != nil {
		t.Errorf("%#v", got)
	}
}
