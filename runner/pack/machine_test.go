package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestAMachineIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var stream, got bytes.Buffer
	want := strings.Repeat("disk ", 100_000)
	if err := WriteMachine(t.Context(), &stream, strings.NewReader(want), int64(len(want))); err != nil {
		t.Fatal(err)
	}
	if err := ReadMachine(t.Context(), bytes.NewReader(stream.Bytes()), &got); err != nil || got.String() != want {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	if err := WriteMachine(t.Context(), io.Discard, strings.NewReader("short"), 6); err == nil {
		t.Error("a file that is shorter than was said is no error")
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := ReadMachine(ended, &stream, io.Discard); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestWhatIsNoMachineIsRefused(t *testing.T) {
	t.Parallel()
	whole := content(t, file(Machine, 5000))
	for name, c := range map[string]struct {
		stream []byte
		cause  runner.Cause
	}{
		"nothing":              {nil, runner.PackDamaged},
		"no archive":           {bytes.Repeat([]byte("text "), 1000), runner.PackDamaged},
		"one that is cut off":  {whole[:3000], runner.PackDamaged},
		"a sandbox's changes":  {content(t, dir("root/"), file("root/a", 5)), runner.PackUnsafe},
		"a folder":             {content(t, dir(Machine)), runner.PackUnsafe},
		"a link":               {content(t, tar.Header{Typeflag: tar.TypeSymlink, Name: Machine, Linkname: "/etc/shadow"}), runner.PackUnsafe},
		"a second file":        {content(t, file(Machine, 5), file("root/a", 5)), runner.PackUnsafe},
		"the machine, up here": {content(t, file("../"+Machine, 5)), runner.PackUnsafe},
	} {
		if err := ReadMachine(t.Context(), bytes.NewReader(c.stream), io.Discard); runner.CauseOf(err) != c.cause {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewEntryReader(bytes.NewReader(whole)).Next(); runner.CauseOf(err) != runner.PackUnsafe {
		t.Errorf("a machine among a sandbox's changes: %v", err)
	}
}
