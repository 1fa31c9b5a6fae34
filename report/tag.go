package report

import (
	"bytes"
	"io"
	"strings"
)

// startTag also gives a tag that the end of the file cut off, with what it had, because a failure that had begun
// must not be lost. The error follows on the next call.
func (s *scanner) startTag() (token, error) {
	t := token{kind: startToken, line: s.line, depth: len(s.open)}
	s.readByte()
	name, err := s.name()
	t.name = local(name)
	if err == nil {
		err = s.attributes(&t)
	}
	if err == io.EOF {
		s.fail, t.cut = s.truncated(), true
		return t, nil
	}
	if err != nil {
		return t, err
	}
	return t, s.push(name, t.line)
}

func (s *scanner) push(name string, line int) error {
	if len(s.open) == 0 {
		s.roots++
	}
	s.open = append(s.open, name)
	s.elements++
	if len(s.open) > maxDepth {
		return refuse(TooDeep, line, "elements nested deeper than %d", maxDepth)
	}
	if s.elements > maxElements {
		return refuse(TooLarge, line, "more than %d elements", maxElements)
	}
	return nil
}

func (s *scanner) attributes(t *token) error {
	for {
		spaced, err := s.skipSpace()
		if err != nil {
			return err
		}
		b, err := s.peekByte()
		switch {
		case err != nil:
			return err
		case b == '>':
			s.readByte()
			return nil
		case b == '/':
			s.readByte()
			b, err = s.readByte()
			s.closing = b == '>'
			if err == nil && !s.closing {
				err = refuse(Malformed, s.line, "a / inside of <%s>", cleanName(t.name))
			}
			return err
		case !spaced:
			return refuse(Malformed, s.line, "%q inside of <%s>", b, cleanName(t.name))
		}
		if err := s.attribute(t); err != nil {
			return err
		}
	}
}

func (s *scanner) attribute(t *token) error {
	name, err := s.name()
	if err != nil {
		return err
	}
	for _, want := range []string{"=", `"'`} {
		if _, err := s.skipSpace(); err != nil {
			return err
		}
		b, err := s.peekByte()
		if err != nil {
			return err
		}
		if strings.IndexByte(want, b) < 0 {
			return refuse(Malformed, s.line, "attribute %s without a quoted value", cleanName(name))
		}
		if b == '=' {
			s.readByte()
		}
	}
	limit := attributeLimit(name)
	if limit > 0 && hasAttr(t, name) {
		return refuse(Malformed, s.line, "attribute %s twice", name)
	}
	s.value = clip{limit: max(limit, maxName), name: limit == maxName, buf: s.value.buf[:0]}
	err = s.attributeValue()
	if limit > 0 {
		t.attrs = append(t.attrs, attr{name, s.value.text(strings.Clone)})
	}
	return err
}

// attributeLimit is 0 for an attribute that nothing here reads; prefixed ones are never read.
func attributeLimit(name string) int {
	switch name {
	case "message", "value":
		return maxMessage
	case "name", "classname", "file", "line", "assertions", "time", "timestamp", "hostname", "status", "result", "type":
		return maxName
	}
	return 0
}

func hasAttr(t *token, name string) bool {
	for _, a := range t.attrs {
		if a.name == name {
			return true
		}
	}
	return false
}

func (s *scanner) attributeValue() error {
	quote, _ := s.readByte()
	stop := "<&\r" + string(rune(quote))
	for {
		window, err := s.window()
		if err != nil {
			return err
		}
		n := bytes.IndexAny(window, stop)
		if n != 0 {
			if n < 0 {
				n = len(window)
			}
			s.value.write(window[:n])
			s.skip(window[:n])
			continue
		}
		switch window[0] {
		case quote:
			s.readByte()
			return nil
		case '<':
			return refuse(Malformed, s.line, "a < inside of an attribute")
		case '\r':
			s.value.write(s.lineEnd())
		default:
			if s.scratch, err = s.reference(s.scratch[:0]); err != nil {
				return err
			}
			s.value.write(s.scratch)
		}
	}
}
