package ci

import (
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
)

// absent is what of a kind is left out.
type absent struct {
	kind  string
	count int
}

// page is a text with a limit. What has no room is counted by its kind.
type page struct {
	b    strings.Builder
	left int
	full bool
	gone []absent
}

// add takes a piece whole or not at all. After the first that has no room none is taken, so that what is missing is
// always the end.
func (p *page) add(piece string) bool {
	if p.full || len(piece) > p.left {
		p.full = true
		return false
	}
	p.b.WriteString(piece)
	p.left -= len(piece)
	return true
}

// rows adds a list under its title, as far as there is room.
func (p *page) rows(kind, title string, all []string, end string) {
	if len(all) == 0 {
		return
	}
	for i, row := range all {
		if i == 0 {
			row = title + row
		}
		if !p.add(row) {
			p.missing(kind, len(all)-i)
			return
		}
	}
	p.add(end)
}

// rest counts what was not even listed.
func (p *page) rest(kind string, n int) {
	if n > 0 {
		p.missing(kind, n)
	}
}

func (p *page) missing(kind string, n int) {
	if last := len(p.gone) - 1; last >= 0 && p.gone[last].kind == kind {
		p.gone[last].count += n
		return
	}
	p.gone = append(p.gone, absent{kind, n})
}

// end is the page with its last line, for which room was kept.
func (p *page) end(where string) string {
	var parts []string
	for _, a := range p.gone {
		parts = append(parts, text.Plural(a.count, "more "+a.kind))
	}
	if len(parts) > 0 {
		fmt.Fprintf(&p.b, "\n%s: all in %s\n", strings.Join(parts, ", "), markdown(text.Cut(where, 300)))
	}
	return p.b.String() + "\n"
}
