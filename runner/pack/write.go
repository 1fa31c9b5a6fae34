package pack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/boxer-ci/boxer/runner"
)

// half is the pattern of a pack that is being written. Its writer holds a lock on it.
const half = ".new-*.boxer-pack"

// Writer writes one pack beside its place, where Commit puts it whole.
type Writer struct {
	path     string
	file     *os.File
	sum      hash.Hash
	stored   int64
	unpacked int64
	z        *zstd.Encoder
}

// Create begins a pack that is to lie at path, and removes what a crash left of earlier ones in that folder.
func Create(path string) (*Writer, error) {
	dir := filepath.Dir(path)
	sweep(dir)
	f, err := os.CreateTemp(dir, half)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, file: f, sum: sha256.New()}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	if err == nil {
		_, err = f.Seek(room, io.SeekStart)
	}
	if err == nil {
		w.z, err = zstd.NewWriter(stored{w})
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// stored is the compressed side of a Writer.
type stored struct{ w *Writer }

func (s stored) Write(b []byte) (int, error) {
	n, err := s.w.file.Write(b)
	s.w.sum.Write(b[:n])
	s.w.stored += int64(n)
	return n, err
}

// Write takes the next bytes of the tar stream.
func (w *Writer) Write(b []byte) (int, error) {
	n, err := w.z.Write(b)
	w.unpacked += int64(n)
	return n, err
}

// Commit completes the manifest and puts the pack in its place; an existing file there is replaced only with force.
// What it returns is the manifest as written.
func (w *Writer) Commit(m Manifest, force bool) (Manifest, error) {
	defer w.Abort()
	if err := w.z.Close(); err != nil {
		return m, err
	}
	m.Kind, m.Schema = kind, max(m.Schema, format)
	m.Body = body{Bytes: w.stored, Unpacked: w.unpacked, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	front, err := frontOf(m)
	if err == nil {
		_, err = w.file.WriteAt(front, 0)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.place(force)
	}
	return m, err
}

func (w *Writer) place(force bool) error {
	if force {
		return os.Rename(w.file.Name(), w.path)
	}
	err := os.Link(w.file.Name(), w.path)
	if errors.Is(err, fs.ErrExist) {
		return Exists(w.path)
	}
	if err != nil { // a file system without links: then it is taken for granted that nobody else writes there
		return os.Rename(w.file.Name(), w.path)
	}
	return nil
}

// Exists is the refusal to replace a pack.
func Exists(path string) error {
	return &runner.Error{Reason: path + " exists already, and nothing was saved", Cause: runner.PackExists}
}

// Abort leaves nothing of a pack that was not committed. After Commit it does nothing.
func (w *Writer) Abort() {
	if w.z != nil {
		w.z.Close() // its background work ends
	}
	if w.file != nil {
		os.Remove(w.file.Name())
		w.file.Close()
		w.file = nil
	}
	w.z = nil
}

// frontOf is the manifest in its room.
func frontOf(m Manifest) ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	var entry bytes.Buffer
	t := tar.NewWriter(&entry)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: manifestName, Size: int64(len(text)), Mode: 0o644, ModTime: m.Created.Truncate(time.Second)}
	err = t.WriteHeader(h)
	if err == nil {
		_, err = t.Write(text)
	}
	if err == nil {
		err = t.Flush() // no end of the archive: the content follows
	}
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	front := z.EncodeAll(entry.Bytes(), nil)
	const skip = 8 // magic and length
	if len(front)+skip > room {
		return nil, fmt.Errorf("the manifest has %d bytes, more than its room of %d", len(front), room)
	}
	fill := room - len(front) - skip
	front = binary.LittleEndian.AppendUint32(front, 0x184D2A50) // a frame that readers skip (RFC 8878, 3.1.2)
	front = binary.LittleEndian.AppendUint32(front, uint32(fill))
	return append(front, make([]byte, fill)...), nil
}

// abandoned is how old half a pack is at least before it is taken for left over: its writer needs a moment to lock it.
const abandoned = time.Minute

// sweep removes the halves whose writers are gone.
func sweep(dir string) {
	halves, _ := filepath.Glob(filepath.Join(escapeGlob(dir), half))
	for _, path := range halves {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && time.Since(info.ModTime()) > abandoned && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.Remove(path)
		}
		f.Close()
	}
}
