package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// source is one report file that was looked through once. A file that is not well-formed counts for nothing, and that
// is known only at its end: so each file is checked before any of its cases is written.
type source struct {
	File
	stop    <-chan struct{}
	enc     charset
	err     *ReadError // nil if the file is whole
	refused bool       // it gives no case
	mayFail bool       // there is something in it that can make a case bad
	stray   int        // line of plain text outside of the report, or 0
	cases   int        // also those that a failure outside of any case will become
}

func inspect(f File, names *suiteNames, stop <-chan struct{}) *source {
	s := &source{File: f, stop: stop}
	s.err = s.readError(s.scan(func(sc *scanner) error {
		return (&inspector{scanner: sc, source: s, names: names}).run()
	}))
	s.refused = s.err != nil && s.err.Kind != Truncated
	return s
}

// read gives the cases to b. A truncated file keeps those that are complete; one that was refused has none.
func (s *source) read(b *builder) error {
	if s.refused {
		return nil
	}
	return s.scan(b.build)
}

func (s *source) scan(use func(*scanner) error) error {
	info, err := os.Stat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(Missing, 1, "the file is not there")
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return refuse(Unreadable, 1, "no regular file")
	case info.Size() > maxBytes:
		return refuse(TooLarge, 1, "%d bytes are over the limit of %d", info.Size(), maxBytes)
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.enc, err = detectCharset(f); err != nil {
		return err
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return use(newScanner(s.enc.reader(stopReader{f, s.stop})))
}

// stopReader ends when it is told to. What is read of the file then does not matter: nothing of it is written.
type stopReader struct {
	io.Reader
	stop <-chan struct{}
}

func (r stopReader) Read(p []byte) (int, error) {
	if stopped(r.stop) {
		return 0, ErrStopped
	}
	return r.Reader.Read(p)
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

func (s *source) readError(err error) *ReadError {
	if err == nil {
		return nil
	}
	var known *ReadError
	if !errors.As(err, &known) {
		known = refuse(Unreadable, 1, "%v", err)
	}
	known.File = s.Name
	return known
}
