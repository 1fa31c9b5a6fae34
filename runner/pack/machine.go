package pack

import (
	"archive/tar"
	"context"
	"errors"
	"io"

	"github.com/boxer-ci/boxer/runner"
)

// Machine is the one entry of a pack whose backend has a format of its own for a whole machine: a file that nobody but
// that backend's program looks into. The parts of other packs are never beside it.
const Machine = "machine/disk"

// WriteMachine writes the stream of such a pack: size bytes of file.
func WriteMachine(ctx context.Context, w io.Writer, file io.Reader, size int64) error {
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: Machine, Size: size, Mode: 0o600}); err != nil {
		return err
	}
	if _, err := io.Copy(t, reading{ctx, file}); err != nil {
		return err
	}
	return t.Close()
}

// ReadMachine hands on the file of such a pack, all of the stream or an error.
func ReadMachine(ctx context.Context, stream io.Reader, to io.Writer) error {
	t := tar.NewReader(reading{ctx, stream})
	h, err := t.Next()
	if err != nil {
		return unreadable(ctx, err)
	}
	if h.Name != Machine || h.Typeflag != tar.TypeReg {
		return refused("%q is no machine", h.Name)
	}
	if _, err := io.Copy(to, reading{ctx, t}); err != nil {
		return unreadable(ctx, err)
	}
	switch h, err = t.Next(); {
	case err == nil:
		return refused("%q is there beside the machine", h.Name)
	case err != io.EOF:
		return unreadable(ctx, err)
	}
	_, err = io.Copy(io.Discard, reading{ctx, stream}) // so that a stream that goes wrong at its end is heard of
	return err
}

// unreadable is an error of the archive's; those that somebody can act on, the context's and a full disk's stay what
// they are.
func unreadable(ctx context.Context, err error) error {
	_, told := errors.AsType[*runner.Error](err)
	if told || ctx.Err() != nil || !errors.Is(err, tar.ErrHeader) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return damaged("its content is no archive").Because(err)
}
