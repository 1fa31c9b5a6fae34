package report

import "io"

// skipSpace passes white space and, inside of a tag, any other control character.
func (s *scanner) skipSpace() (bool, error) {
	for spaced := false; ; spaced = true {
		b, err := s.peekByte()
		if err != nil || b > ' ' {
			return spaced, err
		}
		s.readByte()
	}
}

func (s *scanner) name() (string, error) {
	s.scratch = s.scratch[:0]
	for {
		window, err := s.window()
		if err == io.EOF {
			return known(s.scratch), err
		}
		if err != nil {
			return "", err
		}
		n := 0
		for n < len(window) && isName(window[n]) {
			n++
		}
		s.scratch = append(s.scratch, window[:n]...)
		s.from, s.lastLine = s.from+n, s.line
		if len(s.scratch) > maxTagName {
			return "", refuse(Malformed, s.line, "a name of more than %d bytes", maxTagName)
		}
		if n < len(window) {
			break
		}
	}
	if len(s.scratch) == 0 || !isNameStart(s.scratch[0]) {
		return "", refuse(Malformed, s.line, "a bad name in a tag")
	}
	return known(s.scratch), nil
}

// known saves a copy for each of the names that a big report repeats a million times.
func known(name []byte) string {
	switch string(name) {
	case "testcase":
		return "testcase"
	case "testsuite":
		return "testsuite"
	case "name":
		return "name"
	case "classname":
		return "classname"
	case "time":
		return "time"
	case "failure":
		return "failure"
	case "system-out":
		return "system-out"
	case "property":
		return "property"
	case "value":
		return "value"
	case "file":
		return "file"
	}
	return string(name)
}

func isNameStart(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == ':' || b >= 0x80
}

func isName(b byte) bool {
	return isNameStart(b) || b >= '0' && b <= '9' || b == '-' || b == '.'
}
