package report

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// reference appends the character that `&...;` stands for, even one that XML forbids: cleaning it is not our job.
func (s *scanner) reference(to []byte) ([]byte, error) {
	p := s.peek(32)
	end := bytes.IndexByte(p, ';')
	if end < 0 {
		if len(p) < 32 && !bytes.ContainsAny(p[1:], " <>&\"'\r\n\t") {
			s.skip(p)
			return to, io.EOF
		}
		return to, refuse(Malformed, s.line, "a bare & (it must be written &amp;)")
	}
	name := string(p[1:end])
	r, ok := entity(name)
	if !ok {
		return to, refuse(Malformed, s.line, "a bare & or an unknown entity: &%s;", cleanName(name))
	}
	s.skip(p[:end+1])
	return appendRune(to, r), nil
}

func entity(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, isNumber := strings.CutPrefix(name, "#")
	hex, isHex := strings.CutPrefix(digits, "x")
	base := 10
	if isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if !isNumber || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return rune(n), true // one too big for Unicode is cleaned like any other that XML forbids
}
