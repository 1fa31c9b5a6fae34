package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible are characters that show nothing, or change how others are shown. Left as they are, a name could look like
// another, or rearrange the text around it.
var invisible = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Bidi_Control,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

const emojiStyle = '\ufe0f' // asks for the coloured form of the character before it, and does no more

// visible makes a text of one line that shows all there is in it.
func visible(s string) string { return reveal(s, false) }

// visibleLines leaves line ends and tabs as they are.
func visibleLines(s string) string { return reveal(strings.ReplaceAll(s, "\r\n", "\n"), true) }

func reveal(s string, lines bool) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹0x%02X›", s[0])
		case lines && (r == '\n' || r == '\t') || r == emojiStyle:
			b.WriteRune(r)
		case unicode.In(r, invisible...) || r == '\u2800': // the empty pattern of Braille
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
