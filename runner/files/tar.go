package files

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// inMemory is the size up to which a file is read before its length is told, so that one that changes under the
// reader is still whole.
const inMemory = 1 << 20

// Tar writes the files that the pick names, under their paths relative to Pick.Base. What matched and was left
// behind is returned; a file named there may have been begun in the stream and is worthless then.
func Tar(ctx context.Context, root *os.Root, at string, p runner.Pick, w io.Writer) ([]runner.Skipped, error) {
	t := tarrer{w: tar.NewWriter(w), left: p.Limit, limited: p.Limit > 0, limit: p.Limit}
	skipped, err := Walk(ctx, root, at, p, t.add)
	if err != nil {
		return nil, err
	}
	return append(skipped, t.skipped...), t.w.Close()
}

type tarrer struct {
	w           *tar.Writer
	limit, left int64
	limited     bool
	skipped     []runner.Skipped
}

func (t *tarrer) add(found Found) error {
	f, size, reason := open(found)
	if reason != "" {
		t.skip(found, reason)
		return nil
	}
	if f == nil {
		return nil
	}
	defer f.Close()
	if t.limited && size > t.left {
		t.skip(found, "over the limit of "+Size(t.limit)+" in all")
		return nil
	}
	var from io.Reader = io.LimitReader(f, size)
	if size <= inMemory {
		b, err := io.ReadAll(from)
		if err != nil {
			t.skip(found, reasonOf(err))
			return nil
		}
		from, size = bytes.NewReader(b), int64(len(b))
	}
	t.left -= size
	return t.write(found, from, size)
}

func (t *tarrer) write(found Found, from io.Reader, size int64) error {
	err := t.w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: found.Path, Size: size, Format: tar.FormatPAX,
		Mode: int64(found.Info.Mode().Perm()), ModTime: found.Info.ModTime(),
	})
	if errors.Is(err, tar.ErrHeader) {
		t.skip(found, "its name cannot be told")
		return nil
	}
	if err != nil {
		return err
	}
	src := &source{r: from}
	n, err := io.Copy(t.w, src)
	if err != nil && src.err == nil {
		return err // it was the writing that failed
	}
	if n < size {
		t.skip(found, "changed while it was read")
		_, err = io.CopyN(t.w, zeros{}, size-n)
		return err
	}
	return nil
}

func (t *tarrer) skip(f Found, reason string) {
	t.skipped = append(t.skipped, runner.Skipped{Path: f.Path, Reason: reason})
}

// source remembers whether it was the reading that failed.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// open opens the very file that the walk saw, if it is one that may be taken. A file that is gone is nil without a
// reason.
func open(found Found) (f *os.File, size int64, reason string) {
	f, err := found.Dir.OpenFile(found.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ""
	}
	if err != nil {
		return nil, 0, reasonOf(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		reason = reasonOf(err)
	case !info.Mode().IsRegular() || !os.SameFile(info, found.Info):
		reason = "changed while it was looked at"
	case links(info) > 1:
		reason = "hard link"
	}
	if reason != "" {
		f.Close()
		return nil, 0, reason
	}
	return f, info.Size(), ""
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// Clear removes the regular files that the pick names; Pick.Limit is not looked at. Every one is tried.
func Clear(ctx context.Context, root *os.Root, at string, p runner.Pick) error {
	var errs []error
	_, err := Walk(ctx, root, at, p, func(f Found) error {
		if err := f.Dir.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("clear %s: %w", f.Path, err))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// Untar unpacks a stream that Tar wrote below dest and returns the paths, sorted. It makes folders and regular files,
// nothing else; an existing file is replaced. limit bounds the bytes in all; 0 is no limit.
func Untar(r io.Reader, dest *os.Root, limit int64) ([]string, error) {
	var names []string
	var total int64
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			sort.Strings(names)
			return names, nil
		}
		if err != nil {
			return names, err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || path.Clean(h.Name) != h.Name || h.Name == "." {
			return names, fmt.Errorf("the stream holds %q, which is no plain file in its folder", h.Name)
		}
		if total += h.Size; limit > 0 && total > limit {
			return names, fmt.Errorf("the stream is over its limit of %s", Size(limit))
		}
		if err := unpack(t, h, dest); err != nil {
			return names, fmt.Errorf("write %s: %w", h.Name, err)
		}
		names = append(names, h.Name)
	}
}

func unpack(r io.Reader, h *tar.Header, dest *os.Root) error {
	if err := dest.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}
	if err := dest.Remove(h.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := dest.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dest.Chtimes(h.Name, time.Time{}, h.ModTime)
}

// Size prints bytes as people read them: "1 GiB", "3.5 MiB", "12 bytes".
func Size(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
