package text

import "strings"

// Uncoloured is a line without its colours and tabs.
func Uncoloured(line string) string {
	for strings.Contains(line, "\x1b") {
		i := strings.Index(line, "\x1b")
		line = line[:i] + line[i+max(1, len(colour.FindString(line[i:]))):]
	}
	return strings.ReplaceAll(line, "\t", " ")
}

// Cut shortens a text to that many columns. Beyond the European scripts a character is taken to need two.
func Cut(text string, width int) string {
	if Columns(text) <= width {
		return text
	}
	used := 1
	for i, r := range text {
		if used += Columns(string(r)); used > width {
			return text[:i] + "…"
		}
	}
	return text
}

// Columns is how many columns of a terminal a text takes, as far as that can be known.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}
