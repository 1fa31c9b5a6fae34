package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/boxer-ci/boxer/runner"
)

// maxWindow bounds the memory that decompressing takes, whatever the frames ask for. Packs are written with 8 MiB.
const maxWindow = 32 << 20

// Pack is an open pack file.
type Pack struct {
	Manifest
	file *os.File
}

// Open reads the manifest and looks whether the file is as long as it says. Its content is not looked at: Verify does.
func Open(path string) (*Pack, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p, err := open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func open(f *os.File) (*Pack, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &runner.Error{Reason: "this is no file", Cause: runner.NotAPack}
	}
	front, err := io.ReadAll(io.NewSectionReader(f, 0, room))
	if err != nil {
		return nil, err
	}
	m, err := readManifest(front)
	if err != nil {
		return nil, err
	}
	p := &Pack{Manifest: m, file: f}
	switch have := info.Size() - room; {
	case have < m.Body.Bytes:
		return nil, &runner.Error{
			Reason: fmt.Sprintf("the pack is truncated: %d of its %d bytes are missing", m.Body.Bytes-have, m.Body.Bytes+room),
			Cause:  runner.PackTruncated,
		}
	case have > m.Body.Bytes:
		return nil, damaged(fmt.Sprintf("%d bytes follow its end", have-m.Body.Bytes))
	}
	return p, nil
}

// readManifest reads the front of a pack. The manifest is the first entry of the first frame in every format, so that
// of a newer one it can at least be said that it is newer.
func readManifest(front []byte) (Manifest, error) {
	var m Manifest
	notOne := &runner.Error{Reason: "this is no pack of boxer's", Cause: runner.NotAPack}
	if !bytes.HasPrefix(front, []byte{0x28, 0xB5, 0x2F, 0xFD}) {
		return m, notOne
	}
	z, err := zstd.NewReader(bytes.NewReader(front), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return m, err
	}
	defer z.Close()
	t := tar.NewReader(io.LimitReader(z, 1<<20))
	h, err := t.Next()
	if err != nil {
		return m, damaged("its manifest cannot be read").Because(err)
	}
	if h.Name != manifestName || h.Typeflag != tar.TypeReg {
		return m, notOne
	}
	text, err := io.ReadAll(t)
	if err != nil {
		return m, damaged("its manifest cannot be read").Because(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged("its manifest cannot be read").Because(err)
	}
	return m, m.check()
}

// Verify compares every byte with the digest in the manifest.
func (p *Pack) Verify(ctx context.Context) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, reading{ctx, p.body()}); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != p.Body.SHA256 {
		return damaged("its content does not have the SHA-256 that its manifest tells")
	}
	return nil
}

func (p *Pack) body() io.Reader { return io.NewSectionReader(p.file, room, p.Body.Bytes) }

// Stream decompresses the content. It gives exactly the bytes that the manifest tells, or an error.
func (p *Pack) Stream(ctx context.Context) (io.ReadCloser, error) {
	z, err := zstd.NewReader(reading{ctx, p.body()}, zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return &stream{from: z.IOReadCloser(), left: p.Body.Unpacked}, nil
}

// stream ends where the manifest says, and takes it as damage if the content ends anywhere else.
type stream struct {
	from io.ReadCloser
	left int64
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	s.left -= int64(n)
	switch {
	case s.left < 0:
		return 0, damaged("it unpacks to more than its manifest tells")
	case err == io.EOF && s.left > 0:
		return n, damaged("it unpacks to less than its manifest tells")
	case err != nil && err != io.EOF:
		return n, damaged("it cannot be unpacked").Because(err)
	}
	return n, err
}

func (s *stream) Close() error { return s.from.Close() }

// Close closes the file.
func (p *Pack) Close() error { return p.file.Close() }

// reading ends with its context.
type reading struct {
	ctx  context.Context
	from io.Reader
}

func (r reading) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(b)
}
