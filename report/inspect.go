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
	enc      charset
	err      *ReadError // nil if the file is whole
	stray    int        // line of plain text outside of the report, or 0
	hasCases bool
}

func inspect(f File) *source {
	s := &source{File: f}
	s.err = s.readError(s.scan((*scanner).inspect))
	return s
}

// read gives the cases to b. A truncated file keeps those that are complete; one that was refused has none.
func (s *source) read(b *builder) *ReadError {
	if s.err != nil && s.err.Kind != Truncated {
		return s.err
	}
	return s.readError(s.scan(func(sc *scanner, _ *source) error { return b.build(sc) }))
}

func (s *source) scan(use func(*scanner, *source) error) error {
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
	return use(newScanner(s.enc.reader(f)), s)
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

// inspect reads to the end and keeps nothing but the names of the open test cases, for the message of a truncated file.
func (s *scanner) inspect(into *source) error {
	var inside []string
	cases := 0
	for {
		t, err := s.next()
		into.stray = s.stray
		var known *ReadError
		if errors.As(err, &known) && known.Kind == Truncated && len(inside) > 0 {
			known.Reason += ", in test case " + inside[len(inside)-1]
		}
		if err != nil || t.kind == endOfFile {
			return err
		}
		switch {
		case t.kind == startToken && len(s.open) <= 1 && !isRoot(t.name):
			return refuse(NotJUnit, t.line, "<%s> is not JUnit", cleanName(t.name))
		case t.kind == startToken && t.name == "testcase":
			inside = append(inside, cleanName(t.attr("name")))
			cases++
		case t.kind == endToken && t.name == "testcase":
			inside = inside[:len(inside)-1]
		}
		if cases > maxCases {
			return refuse(TooLarge, t.line, "more than %d test cases", maxCases)
		}
		into.hasCases = into.hasCases || isResult(t)
	}
}

func isRoot(name string) bool {
	return name == "testsuites" || name == "testsuite" || name == "testcase"
}

// isResult also counts a failure that stands in no test case: it will become one.
func isResult(t token) bool {
	return t.kind == startToken && (t.name == "testcase" || t.name == "failure" || t.name == "error")
}
