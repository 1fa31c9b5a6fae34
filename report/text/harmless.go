package text

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"
)

var (
	colour    = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)
	csi       = regexp.MustCompile(`^\x1b\[[0-?]*[ -/]*[@-~]`)
	stringSeq = regexp.MustCompile(`^\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)`) // titles, links, clipboard
	shortSeq  = regexp.MustCompile(`^\x1b[ -/]*[0-~]`)
)

const resetColour = "\x1b[0m"

// AppendHarmless appends one line of foreign text to dst so that it can do nothing but be read. Colours stay, and end
// with the line. Other terminal sequences are dropped; control characters, marks that turn the direction of text, and
// bytes that are no UTF-8 become visible. What a CI system would take for a command is broken up.
func AppendHarmless(dst, line []byte) []byte { return appendLine(dst, line, true) }

// AppendPlain is AppendHarmless without the colours.
func AppendPlain(dst, line []byte) []byte { return appendLine(dst, line, false) }

func appendLine(dst, line []byte, colours bool) []byte {
	start := len(dst)
	coloured := false
	for len(line) > 0 {
		if n := plain(line); n > 0 {
			dst, line = append(dst, line[:n]...), line[n:]
			continue
		}
		if line[0] == 0x1b {
			if seq := colour.Find(line); seq != nil && colours {
				dst, line = append(dst, seq...), line[len(seq):]
				coloured = true
				continue
			}
			if n := sequence(line); n > 0 {
				line = line[n:]
				continue
			}
		}
		r, n := utf8.DecodeRune(line)
		dst = appendRune(dst, r, line[:n])
		line = line[n:]
	}
	if coloured {
		dst = append(dst, resetColour...)
	}
	return disarm(dst, start)
}

// plain counts the bytes that need no look: most text is all of it.
func plain(line []byte) int {
	for i, b := range line {
		if (b < ' ' && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(line)
}

// sequence is the length of the terminal sequence that the line starts with, 0 if it is none.
func sequence(line []byte) int {
	for _, kind := range []*regexp.Regexp{csi, stringSeq, shortSeq} {
		if seq := kind.Find(line); seq != nil {
			return len(seq)
		}
	}
	return 0
}

func appendRune(dst []byte, r rune, raw []byte) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Appendf(dst, `\x%02x`, raw[0])
	case r < 0x80: // printable ones were taken as they are
		return fmt.Appendf(dst, `\x%02x`, r)
	case unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
		return fmt.Appendf(dst, `\u%04x`, r)
	default:
		return append(dst, raw...)
	}
}

// disarm breaks up the marks that GitHub and Azure look for anywhere in a line: ##[ and ##vso[.
func disarm(dst []byte, start int) []byte {
	if !bytes.Contains(dst[start:], []byte("##")) {
		return dst
	}
	line := dst[start:]
	for _, mark := range []string{"##[", "##vso["} {
		line = bytes.ReplaceAll(line, []byte(mark), []byte("# "+mark[1:]))
	}
	return append(dst[:start], line...)
}

// Harmless is AppendHarmless for a text of one line; line ends become spaces.
func Harmless(text string) string { return string(AppendHarmless(nil, oneLine(text))) }

// Plain is Harmless without the colours.
func Plain(text string) string { return string(AppendPlain(nil, oneLine(text))) }

func oneLine(text string) []byte {
	b := []byte(text)
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
	return b
}
