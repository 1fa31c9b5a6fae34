package shard

import (
	"strings"

	"github.com/boxer-ci/boxer/report/text"
)

// maxShownText is how many columns of a text are shown where the terminal does not say how wide it is.
const maxShownText = 300

// sheet is a text for a terminal of some width. Nothing on it is wider, so that the terminal wraps nothing, and what
// tests wrote can do nothing on it.
type sheet struct {
	b      strings.Builder
	width  int // 0: no terminal
	colour bool
}

func (p *sheet) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

func (p *sheet) paint(c text.Colour, s string) string {
	if !p.colour {
		return s
	}
	return text.Paint(c, s)
}

// oneLine is text of a test on one line of a terminal, where a tab would be as wide as it likes.
func oneLine(s string) string { return strings.ReplaceAll(text.Plain(s), "\t", " ") }

// room is what a line has left behind so many columns.
func (p *sheet) room(used int) int {
	if p.width == 0 {
		return maxShownText
	}
	return max(p.width-used, 10)
}

// wrapped writes a text behind an indent, on as many lines as it needs.
func (p *sheet) wrapped(indent, s string, c text.Colour) {
	s = oneLine(text.Cut(s, maxShownText))
	width := 0
	if p.width > 0 {
		width = p.room(len(indent))
	}
	for _, line := range text.Wrap(s, width) {
		p.line(indent + p.paint(c, line))
	}
}

// path writes a path, which loses its start where it has no room.
func (p *sheet) path(indent, s string, c text.Colour) {
	p.line(indent + p.paint(c, text.CutHead(oneLine(s), p.room(len(indent)))))
}

// command writes what is to be typed. A narrow terminal gets it on several lines, which a shell reads as one.
func (p *sheet) command(label, s string) {
	if p.width == 0 || len(label)+len(s) <= p.width {
		p.line(label + s)
		return
	}
	p.line(strings.TrimRight(label, " "))
	lines := text.Wrap(s, p.room(4))
	for i, line := range lines {
		if i < len(lines)-1 {
			line += " \\"
		}
		p.line("  " + line)
	}
}
