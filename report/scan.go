package report

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

type tokenKind int

const (
	startToken tokenKind = iota
	endToken
	textToken
	endOfFile
)

// token is one piece of a report. Text comes in pieces of any size, good until the next call.
type token struct {
	kind  tokenKind
	name  string // of the element, without a namespace prefix
	attrs []attr
	text  []byte
	line  int
	depth int  // of a start tag: how many elements stand around it
	cut   bool // the file ended inside of this start tag
}

type attr struct{ name, value string }

func (t *token) attr(name string) string {
	for _, a := range t.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// scanner reads XML as test tools really write it. Package encoding/xml refuses control characters, bad bytes, `]]>`
// in text and XML 1.1, holds each text as a whole, and cannot say where a file that ends too early ended. What is not
// well-formed in any other way is refused here too: nothing is guessed.
type scanner struct {
	r         *bufio.Reader
	line      int      // of the byte read last
	lastLine  int      // the last one with anything on it
	open      []string // elements, with their prefixes
	roots     int
	elements  int
	stray     int   // line of the first thing outside of a root that is no XML, or 0
	strayText int   // the same without NUL bytes, which a crash can leave
	closing   bool  // the start tag read last closed itself
	cdata     bool  // inside of a CDATA section
	fail      error // comes after the token that was cut off
	value     clip  // of the attribute being read
	scratch   []byte
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: bufio.NewReaderSize(r, 64<<10), line: 1}
}

// next gives the next token, or a *ReadError without its file.
func (s *scanner) next() (token, error) {
	t, err := s.scan()
	if err == nil || errors.As(err, new(*ReadError)) {
		return t, err
	}
	if err != io.EOF {
		return t, refuse(Unreadable, s.line, "%v", err)
	}
	return t, s.truncated()
}

func (s *scanner) scan() (token, error) {
	for {
		switch {
		case s.fail != nil:
			return token{}, s.fail
		case s.closing:
			s.closing = false
			return s.pop(), nil
		case s.cdata:
			if t, err := s.cdataText(); err != nil || len(t.text) > 0 {
				return t, err
			}
			continue
		}
		window, err := s.window()
		if err == io.EOF && len(s.open) == 0 {
			return token{kind: endOfFile}, s.checkContent()
		}
		if err != nil {
			return token{}, err
		}
		var t token
		var found bool
		switch {
		case window[0] == '<':
			t, found, err = s.markup()
		case len(s.open) == 0:
			s.outside(window)
		default:
			t, err = s.text(window)
			found = true
		}
		if found || err != nil {
			return t, err
		}
	}
}

// window gives the bytes that can be looked at without reading, at least one.
func (s *scanner) window() ([]byte, error) {
	if _, err := s.r.Peek(1); err != nil {
		return nil, err
	}
	return s.r.Peek(s.r.Buffered())
}

// skip moves over n bytes of the window. It touches nothing that a token still points to.
func (s *scanner) skip(p []byte) {
	for rest, line := p, s.line; len(rest) > 0; line++ {
		one, more, _ := bytes.Cut(rest, []byte("\n"))
		if len(bytes.Trim(one, " \t\r\x00")) > 0 {
			s.lastLine = line
		}
		rest = more
	}
	s.line += bytes.Count(p, []byte("\n"))
	s.r.Discard(len(p))
}

// readByte reads one byte inside of markup.
func (s *scanner) readByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil && b == '\n' {
		s.line++
	} else if err == nil && b > ' ' {
		s.lastLine = s.line
	}
	return b, err
}

func (s *scanner) peekByte() (byte, error) {
	p, err := s.r.Peek(1)
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

func (s *scanner) has(prefix string) bool {
	p, _ := s.r.Peek(len(prefix))
	return string(p) == prefix
}

// outside passes over what stands before, between and after the roots: log lines, often.
func (s *scanner) outside(window []byte) {
	n := bytes.IndexByte(window, '<')
	if n < 0 {
		n = len(window)
	}
	s.noteStray(window[:n], &s.stray, " \t\r\n\ufeff")
	s.noteStray(window[:n], &s.strayText, " \t\r\n\ufeff\x00")
	s.skip(window[:n])
}

func (s *scanner) noteStray(p []byte, line *int, blank string) {
	if rest := bytes.TrimLeft(p, blank); *line == 0 && len(rest) > 0 {
		*line = s.line + bytes.Count(p[:len(p)-len(rest)], []byte("\n"))
	}
}

// text reads up to the next markup or reference. Line ends become a single newline, as XML has it.
func (s *scanner) text(window []byte) (token, error) {
	t := token{kind: textToken, line: s.line}
	switch n := bytes.IndexAny(window, "<&\r"); {
	case n != 0:
		if n < 0 {
			n = len(window)
		}
		t.text = window[:n]
		s.skip(t.text)
		return t, nil
	case window[0] == '\r':
		t.text = s.lineEnd()
		return t, nil
	}
	var err error
	s.scratch, err = s.reference(s.scratch[:0])
	t.text = s.scratch
	return t, err
}

func (s *scanner) lineEnd() []byte {
	s.readByte()
	if s.has("\n") {
		s.readByte()
	}
	return []byte("\n")
}

func (s *scanner) cdataText() (token, error) {
	t := token{kind: textToken, line: s.line}
	window, err := s.window()
	if err != nil {
		return t, err
	}
	switch n := bytes.IndexAny(window, "]\r"); {
	case n != 0:
		if n < 0 {
			n = len(window)
		}
		t.text = window[:n]
		s.skip(t.text)
	case window[0] == '\r':
		t.text = s.lineEnd()
	case s.has("]]>"):
		s.skip([]byte("]]>"))
		s.cdata = false
	default:
		t.text = []byte("]")
		s.skip(t.text)
	}
	return t, nil
}

func (s *scanner) pop() token {
	last := len(s.open) - 1
	name := s.open[last]
	s.open = s.open[:last]
	return token{kind: endToken, name: local(name), line: s.line}
}

// checkContent tells a file without any root at its end.
func (s *scanner) checkContent() error {
	if s.roots > 0 {
		return nil
	}
	if s.strayText > 0 {
		return refuse(NotJUnit, s.strayText, "plain text is not JUnit")
	}
	return refuse(Empty, 1, "the file holds no element")
}

func (s *scanner) truncated() *ReadError {
	where := "a tag"
	if len(s.open) > 0 {
		where = "<" + s.open[len(s.open)-1] + ">"
	}
	return refuse(Truncated, s.lastLine, "the file ends inside of %s", where)
}

func local(name string) string {
	return name[strings.LastIndexByte(name, ':')+1:]
}
