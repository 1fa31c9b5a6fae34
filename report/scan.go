package report

import (
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

// token is one piece of a report. Text comes in pieces of any size. Text and attributes are good until the next call.
type token struct {
	kind  tokenKind
	name  string // of the element, without a namespace prefix
	attrs []rawAttr
	text  []byte
	line  int
	depth int  // of a start tag: how many elements stand around it
	cut   bool // the file ended inside of this start tag
}

type rawAttr struct {
	name  string
	value []byte
}

func (t *token) attr(name string) string {
	for i := range t.attrs {
		if t.attrs[i].name == name {
			return string(t.attrs[i].value)
		}
	}
	return ""
}

// scanner reads XML as test tools really write it. Package encoding/xml refuses control characters, bad bytes, `]]>`
// in text and XML 1.1, holds each text as a whole, and cannot say where a file that ends too early ended. What is not
// well-formed in any other way is refused here too: nothing is guessed.
type scanner struct {
	input
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
	values    []byte
	attrs     []rawAttr // of the tag read last, with values that lie in values
	scratch   []byte
}

func newScanner(r io.Reader) *scanner {
	return &scanner{input: newInput(r), line: 1}
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

// skip moves over the start of the window. It touches nothing that a token still points to.
func (s *scanner) skip(p []byte) {
	lines := bytes.Count(p, []byte("\n"))
	for i := len(p) - 1; i >= 0; i-- {
		if !isBlank(p[i]) {
			s.lastLine = s.line + lines - bytes.Count(p[i:], []byte("\n"))
			break
		}
	}
	s.line += lines
	s.from += len(p)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0 }

// readByte reads one byte inside of markup.
func (s *scanner) readByte() (byte, error) {
	b, err := s.peekByte()
	if err != nil {
		return 0, err
	}
	s.from++
	if b == '\n' {
		s.line++
	} else if b > ' ' {
		s.lastLine = s.line
	}
	return b, nil
}

func (s *scanner) peekByte() (byte, error) {
	p, err := s.window()
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

func (s *scanner) has(prefix string) bool { return string(s.peek(len(prefix))) == prefix }

// until gives how much of a window stands before the first of the stops. It looks at its start only: a window full of
// stops would else be looked at as a whole for each of them.
func until(window []byte, stops string) int {
	window = window[:min(len(window), 512)]
	for i := range len(stops) {
		if n := bytes.IndexByte(window, stops[i]); n >= 0 {
			window = window[:n]
		}
	}
	return len(window)
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
	switch n := until(window, "<&\r"); {
	case n > 0:
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
	switch n := until(window, "]\r"); {
	case n > 0:
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
