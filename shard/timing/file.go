package timing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxFile is how many bytes of a file are read. It has room for half a million units.
const maxFile = 64 << 20

// errBroken is a file that cannot be used, unlike one that cannot be read now.
var errBroken = errors.New("broken")

// Load reads the file. One that is not there is an empty book. The book can always be used: where there is an error,
// it is empty and the run goes on without timings. Save then sets a broken file aside, and leaves alone one that
// cannot be read or that a newer boxer wrote.
func Load(path string) (*Book, error) {
	b, err := read(path)
	if errors.Is(err, errBroken) {
		return &Book{}, fmt.Errorf("%w: it will be set aside as %s, and this run knows no timings", err, aside(path))
	}
	if err != nil {
		return &Book{}, fmt.Errorf("%w: this run knows no timings", err)
	}
	return b, nil
}

func aside(path string) string { return path + ".broken" }

func read(path string) (*Book, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Book{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read timings: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read timings: %w", err)
	}
	broken := func(why string) error { return fmt.Errorf("timings file %s is %w: %s", path, errBroken, why) }
	if len(text) > maxFile {
		return nil, broken(fmt.Sprintf("it has more than %d MiB", maxFile>>20))
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, broken(explain(text, err))
	}
	if doc.Schema > schema {
		return nil, fmt.Errorf("timings file %s has schema %d and this boxer knows %d: a newer boxer wrote it", path, doc.Schema, schema)
	}
	if doc.Schema < schema {
		return nil, broken(`it has no "schema":1`)
	}
	for key, r := range doc.Units {
		r.Runs = slices.DeleteFunc(r.Runs, func(s float64) bool { return !sane(s) })
		if len(r.Runs) == 0 {
			delete(doc.Units, key)
			continue
		}
		r.Runs = r.Runs[max(0, len(r.Runs)-kept):]
		doc.Units[key] = r
	}
	return &Book{units: doc.Units}, nil
}

// explain says what is wrong with the text and where.
func explain(text []byte, err error) string {
	at, why := int64(len(text)), err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, why = kind.Offset, fmt.Sprintf("%q cannot be a %s", kind.Field, kind.Value)
	}
	return fmt.Sprintf("line %d: %s", 1+bytes.Count(text[:min(at, int64(len(text)))], []byte("\n")), why)
}

// Save adds a run's measurements to the file as it is now, which another run may have written since Load; at is when
// this run ended. The units that this run did not measure keep what they have.
func Save(path string, measured map[string]time.Duration, at time.Time) error {
	if err := save(path, measured, at.UTC().Truncate(time.Second)); err != nil {
		return fmt.Errorf("write timings: %w", err)
	}
	return nil
}

func save(path string, measured map[string]time.Duration, at time.Time) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a rename would replace the link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unlock, err := lock(path+".lock", patience)
	if err != nil {
		return err
	}
	defer unlock()
	b, err := read(path)
	if errors.Is(err, errBroken) {
		b, err = &Book{}, os.Rename(path, aside(path))
	}
	if err != nil {
		return err
	}
	b.add(measured, at)
	text, err := b.encode()
	if err != nil {
		return err
	}
	return replace(path, text)
}

func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
