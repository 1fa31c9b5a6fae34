package text

import "strings"

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

// Columns is how many columns of a terminal a text takes at most, as far as that can be known.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x1100 && !narrow(r) {
			n++
		}
	}
	return n
}

// narrow are the accented letters, punctuation and box drawing behind the first of the wide scripts.
func narrow(r rune) bool { return r >= 0x1e00 && r < 0x2300 || r >= 0x2500 && r < 0x2600 }

// CutHead shortens a text by its start: of a path, the end says more.
func CutHead(text string, width int) string {
	if Columns(text) <= width {
		return text
	}
	runes := []rune(text)
	used, from := 1, len(runes)
	for from > 0 && used+Columns(string(runes[from-1])) <= width {
		from--
		used += Columns(string(runes[from]))
	}
	return "…" + string(runes[from:])
}

// CutMiddle shortens a text and leaves a third of its start: of a test's name, that is its class.
func CutMiddle(text string, width int) string {
	if Columns(text) <= width || width < 3 {
		return Cut(text, width)
	}
	head := strings.TrimSuffix(Cut(text, width/3), "…")
	return head + CutHead(text, width-Columns(head))
}

// Wrap breaks a text into lines of at most that many columns, at blanks where it can. A width of 0 is none.
func Wrap(text string, width int) []string {
	if width <= 0 || Columns(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && Columns(line)+1+Columns(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for Columns(word) > width {
			n := fitting(word, width)
			if n == len(word) {
				break // one character that is wider than all
			}
			lines, word = append(lines, word[:n]), word[n:]
		}
		line = word
	}
	return append(lines, line)
}

// fitting is how many bytes of the text have room in that many columns: at least one character.
func fitting(text string, width int) int {
	used := 0
	for i, r := range text {
		if used += Columns(string(r)); used > width && i > 0 {
			return i
		}
	}
	return len(text)
}
