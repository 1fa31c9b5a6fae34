package page

import (
	"fmt"
	"unicode/utf8"
)

const (
	maxName   = 400     // bytes of a name
	maxText   = 8 << 10 // of a message, a body, an output
	maxTexts  = 4 << 20 // of all of them
	maxSpans  = 2000    // units drawn
	maxImages = 200     // pictures of one child that no failure mentions
)

// clip cuts the middle out of what is too long: two names that start alike are told apart by their ends, and an output
// says why at its end.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit*2/3, len(s)-limit/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + fmt.Sprintf(" [... %d bytes cut ...] ", tail-head) + s[tail:]
}

// label is a name as the page shows it.
func label(s string) string { return visible(clip(s, maxName)) }

// budget keeps the texts of all failures together within what a browser takes in at once.
type budget struct{ left int }

// text is a text as the page shows it. When the budget is used up, its place is kept and it says so.
func (b *budget) text(s string) string {
	if s == "" {
		return ""
	}
	s = visibleLines(clip(s, maxText))
	if len(s) > b.left {
		return fmt.Sprintf("[%d bytes left out: the page holds %d MiB of texts already]", len(s), maxTexts>>20)
	}
	b.left -= len(s)
	return s
}
