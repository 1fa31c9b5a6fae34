package report

import (
	"bytes"
	"io"
	"strings"
)

// markup reads what starts with `<`. Not found means that it was nothing the reader needs: a comment, a declaration.
func (s *scanner) markup() (t token, found bool, err error) {
	start := s.line
	p := s.peek(2)
	if len(p) < 2 {
		s.skip(p)
		return t, false, io.EOF
	}
	switch second := p[1]; {
	case second == '/':
		t, err = s.endTag()
		return t, true, err
	case second == '?':
		return t, false, s.skipPast("?>")
	case second == '!':
		return t, false, s.declaration(start)
	case isNameStart(second):
		t, err = s.startTag()
		return t, true, err
	case len(s.open) == 0:
		s.outsideMark()
		return t, false, nil
	}
	return t, false, refuse(Malformed, start, "a bare < in text")
}

// outsideMark passes a `<` in a log line.
func (s *scanner) outsideMark() {
	s.noteStray([]byte("<"), &s.stray, "")
	s.noteStray([]byte("<"), &s.strayText, "")
	s.readByte()
}

func (s *scanner) declaration(start int) error {
	switch {
	case s.has("<!--"):
		s.skip([]byte("<!--"))
		return s.skipPast("-->")
	case s.has("<![CDATA[") && len(s.open) > 0:
		s.skip([]byte("<![CDATA["))
		s.cdata = true
		return nil
	case s.has("<!DOCTYPE") && len(s.open) == 0:
		return s.doctype(start)
	}
	rest := s.peek(len("<![CDATA["))
	for _, whole := range []string{"<!--", "<![CDATA[", "<!DOCTYPE"} {
		if len(rest) < len(whole) && strings.HasPrefix(whole, string(rest)) {
			s.skip(rest)
			return io.EOF
		}
	}
	return refuse(Malformed, start, "a declaration where none may stand")
}

// doctype passes a reference to a grammar, which nobody fetches. One that declares something is refused: entities can
// make gigabytes out of a line.
func (s *scanner) doctype(start int) error {
	var quote byte
	for {
		b, err := s.readByte()
		switch {
		case err != nil:
			return err
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '[':
			return refuse(Doctype, start, "a DOCTYPE that declares entities is refused, nothing is expanded")
		case b == '>':
			return nil
		}
	}
}

func (s *scanner) skipPast(end string) error {
	for {
		if p := s.peek(len(end)); len(p) < len(end) {
			s.skip(p)
			return s.err
		}
		window, err := s.window()
		if err != nil {
			return err
		}
		if n := bytes.Index(window, []byte(end)); n >= 0 {
			s.skip(window[:n+len(end)])
			return nil
		}
		s.skip(window[:len(window)-len(end)+1])
	}
}

func (s *scanner) endTag() (token, error) {
	start := s.line
	s.skip([]byte("</"))
	name, err := s.name()
	if err != nil {
		return token{}, err
	}
	if _, err = s.skipSpace(); err != nil {
		return token{}, err
	}
	b, err := s.readByte()
	if err != nil {
		return token{}, err
	}
	if b != '>' || len(s.open) == 0 || name != s.open[len(s.open)-1] {
		return token{}, refuse(Malformed, start, "wrong end tag </%s>", cleanName(name))
	}
	return s.pop(), nil
}
