package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const esc = '\x1b'

// cleanName makes what XML cannot hold visible, so that two names that differ in it stay two.
func cleanName(s string) string {
	if isClean(s) {
		return shorten(s, maxName, true)
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := decodeRune(s)
		switch {
		case isLegal(r, n):
			b.WriteString(s[:n])
		case r == utf8.RuneError || r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return shorten(b.String(), maxName, true)
}

// cleanText drops the colours and movements meant for a terminal, and marks anything else that XML cannot hold.
func cleanText(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := decodeRune(s)
		if r == esc {
			if seq := sequence(s); seq > 0 {
				s = s[seq:]
				continue
			}
		}
		if !isLegal(r, n) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// cleanShort is for texts that tell tests apart but are no names: two cut ones must stay two.
func cleanShort(s string) string { return shorten(cleanText(s), maxName, true) }

func cleanMessage(s string) string { return shorten(cleanText(s), maxMessage, false) }

func isClean(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isLegal(r, n) {
			return false
		}
		i += n
	}
	return true
}

// isLegal says whether XML 1.0 can hold the character r that was read from n bytes.
func isLegal(r rune, n int) bool {
	switch {
	case r == utf8.RuneError:
		return n == 3 // else it stands for a byte that is no UTF-8
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	default:
		return r < 0xD800 || r > 0xDFFF && r != 0xFFFE && r != 0xFFFF
	}
}

// decodeRune also reads a lone surrogate, which UTF-16 input and references like &#xD800; can hold and which the
// scanner hands on as three bytes, see appendRune.
func decodeRune(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return utf8.DecodeRuneInString(s)
}

func appendRune(p []byte, r rune) []byte {
	if r >= 0xD800 && r <= 0xDFFF {
		return append(p, 0xED, byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
	}
	return utf8.AppendRune(p, r)
}

// sequence gives the length of the terminal sequence that s starts with, or 0 if it is none or not whole.
func sequence(s string) int {
	s = s[:min(len(s), maxSequence)]
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '[':
		i := span(s, 2, '0', '?')
		return final(s, span(s, i, ' ', '/'), '@')
	case ']', 'P', 'X', '^', '_':
		return terminated(s)
	}
	return final(s, span(s, 1, ' ', '/'), '0')
}

func span(s string, i int, lo, hi byte) int {
	for i < len(s) && s[i] >= lo && s[i] <= hi {
		i++
	}
	return i
}

func final(s string, i int, lo byte) int {
	if i < len(s) && s[i] >= lo && s[i] <= '~' {
		return i + 1
	}
	return 0
}

// terminated finds the end of an operating system command (a title, a link): a bell, or escape and backslash. It looks
// no further than the next escape, or a text of nothing but starts would take forever.
func terminated(s string) int {
	i := 2 + max(strings.IndexAny(s[2:], "\a\x1b"), 0)
	switch {
	case i < len(s) && s[i] == '\a':
		return i + 1
	case i+1 < len(s) && s[i] == esc && s[i+1] == '\\':
		return i + 2
	}
	return 0
}
