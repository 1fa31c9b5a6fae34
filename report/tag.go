package report

import (
	"io"
	"slices"
)

// startTag also gives a tag that the end of the file cut off, with what it had, because a failure that had begun
// must not be lost. The error follows on the next call.
func (s *scanner) startTag() (token, error) {
	t := token{kind: startToken, line: s.line, depth: len(s.open)}
	s.attrs, s.values = s.attrs[:0], s.values[:0]
	s.readByte()
	name, err := s.name()
	t.name = local(name)
	if err == nil {
		err = s.attributes(t.name)
	}
	t.attrs = s.attrs
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

func (s *scanner) attributes(tag string) error {
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
				err = refuse(Malformed, s.line, "a / inside of <%s>", cleanName(tag))
			}
			return err
		case !spaced:
			return refuse(Malformed, s.line, "%q inside of <%s>", b, cleanName(tag))
		}
		if err := s.attribute(); err != nil {
			return err
		}
	}
}

func (s *scanner) attribute() error {
	name, err := s.name()
	if err != nil {
		return err
	}
	quote, err := s.beforeValue()
	if err != nil {
		return err
	}
	if quote == 0 {
		return refuse(Malformed, s.line, "attribute %s without a quoted value", cleanName(name))
	}
	limit := attributeLimit(name)
	if limit > 0 && slices.ContainsFunc(s.attrs, func(a rawAttr) bool { return a.name == name }) {
		return refuse(Malformed, s.line, "attribute %s twice", name)
	}
	s.value = clip{limit: max(limit, maxName), name: limit == maxName, buf: s.value.buf[:0]}
	err = s.attributeValue(quote)
	if limit > 0 {
		start := len(s.values)
		s.values = s.value.appendRaw(s.values)
		s.attrs = append(s.attrs, rawAttr{name, s.values[start:]})
	}
	return err
}

// beforeValue passes the equal sign and gives the quote, or 0 if one of them is missing.
func (s *scanner) beforeValue() (quote byte, err error) {
	if b, err := s.afterSpace(); err != nil || b != '=' {
		return 0, err
	}
	s.readByte()
	if quote, err = s.afterSpace(); err != nil || quote != '"' && quote != '\'' {
		return 0, err
	}
	s.readByte()
	return quote, nil
}

func (s *scanner) afterSpace() (byte, error) {
	if _, err := s.skipSpace(); err != nil {
		return 0, err
	}
	return s.peekByte()
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

func (s *scanner) attributeValue(quote byte) error {
	stops := "\"<&\r"
	if quote == '\'' {
		stops = "'<&\r"
	}
	for {
		window, err := s.window()
		if err != nil {
			return err
		}
		if n := until(window, stops); n > 0 {
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
