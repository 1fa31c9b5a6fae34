package page

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// The picture's measures, in its own units. It is scaled to the width of the window.
const (
	pictureWidth = 1000.0
	plotLeft     = 110.0
	plotRight    = 985.0
	rowHeight    = 28
	barHeight    = 16
	unitHeight   = 2
	topMargin    = 24
	letterWidth  = 6.2 // of the picture's font, a little more than it is
	minBar       = 1.5 // what is too short to be seen is drawn this wide
)

// timeline is the picture of when what ran.
type timeline struct {
	Width, Height int
	Top, Bottom   int // of the plot
	Ticks         []tick
	Rows          []row
	Undrawn       int // units for which there was no room
}

type tick struct {
	X    float64
	Text string
}

// row is one line of it.
type row struct {
	Y, TextY int
	Label    string
	Note     string // beside the bars, or ""
	NoteX    float64
	Idle     *bar
	Bars     []bar
}

type bar struct {
	X, Y, Width, Height float64
	Class               string
	Title               string // told when one points at it
	Text                string
	TextX, TextY        float64
	Outside             bool   // the text stands beside the bar
	Mark                string // of a second attempt
	Hatched             bool
}

func (b bar) Right() float64 { return b.X + b.Width }

func (b bar) Centre() float64 { return b.Y + b.Height/2 }

// scale maps time to the picture.
type scale struct{ end time.Duration }

func (s scale) x(t time.Duration) float64 {
	t = min(max(t, 0), s.end)
	return plotLeft + (plotRight-plotLeft)*float64(t)/float64(s.end)
}

func (s scale) bar(from, to time.Duration, class, title string) bar {
	b := bar{X: s.x(from), Class: class, Title: title, Height: barHeight}
	b.Width = max(s.x(to)-b.X, minBar)
	return b
}

func newTimeline(p Page) timeline {
	s := scale{ended(p)}
	t := timeline{Width: int(pictureWidth), Top: topMargin}
	for _, at := range ticks(s.end) {
		t.Ticks = append(t.Ticks, tick{s.x(at), tickLabel(at)})
	}
	t.add(s.setupRow(p))
	left := maxSpans
	for _, c := range p.Children {
		units := countUnits(c)
		drawn := units <= left
		if drawn {
			left -= units
		} else {
			t.Undrawn += units
		}
		t.add(s.childRow(c, drawn))
	}
	t.Bottom = t.Top + len(t.Rows)*rowHeight
	t.Height = t.Bottom + 8
	return t
}

// ended is when the last thing of the run ended.
func ended(p Page) time.Duration {
	end := max(p.Setup+p.Wall, time.Millisecond)
	for _, c := range p.Children {
		for _, s := range c.Spans {
			end = max(end, s.End)
		}
	}
	return end
}

func (t *timeline) add(r row) {
	r.Y = t.Top + len(t.Rows)*rowHeight
	r.TextY = r.Y + rowHeight/2 + 4
	top := float64(r.Y) + (rowHeight-barHeight)/2
	for i := range r.Bars {
		b := &r.Bars[i]
		b.Y += top
		b.TextY = float64(r.TextY)
	}
	if r.Idle != nil {
		r.Idle.Y += top
	}
	t.Rows = append(t.Rows, r)
}

func (s scale) setupRow(p Page) row {
	r := row{Label: "setup"}
	if p.Setup <= 0 {
		r.Note, r.NoteX = "the sandbox ran already", plotLeft+4
		return r
	}
	b := s.bar(0, p.Setup, "setup", "setup "+long(p.Setup))
	s.place(&b, "setup "+long(p.Setup), plotRight)
	r.Bars = []bar{b}
	return r
}

func (s scale) childRow(c Child, units bool) row {
	r := row{Label: fmt.Sprintf("%d/%d", c.Number, c.Of)}
	if c.Node != "" {
		r.Label = label(c.Node) + " " + r.Label
	}
	spans := slices.Clone(c.Spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return int(rank(a.Kind) - rank(b.Kind)) })
	last := time.Duration(0)
	for i, span := range spans {
		if span.Kind == Unit && !units {
			break
		}
		b := s.spanBar(c, span)
		if span.Kind != Unit {
			s.place(&b, s.text(span), s.roomAfter(spans[i+1:], span))
		}
		r.Bars = append(r.Bars, b)
		last = max(last, span.End)
	}
	if last == 0 {
		r.Note, r.NoteX = c.State.String(), plotLeft+4
		return r
	}
	if idle := s.end - last; idle > s.end/200 {
		b := s.bar(last, s.end, "idle", "idle "+long(idle))
		b.startAfter(r.Bars)
		r.Idle = &b
	}
	return r
}

// startAfter keeps the line from running through a text that stands beside a bar.
func (b *bar) startAfter(bars []bar) {
	for _, other := range bars {
		if over := other.TextX + textWidth(other.Text) - b.X; other.Outside && over > 0 {
			b.X, b.Width = b.X+over, max(b.Width-over, 0)
		}
	}
}

func textWidth(text string) float64 { return letterWidth * float64(utf8.RuneCountInString(text)) }

// rank draws units over their commands.
func rank(k Kind) int {
	return map[Kind]int{Fork: 0, Command: 1, Unit: 2}[k]
}

func (s scale) spanBar(c Child, span Span) bar {
	length := long(span.End - span.Start)
	where := fmt.Sprintf("shard %d/%d", c.Number, c.Of)
	if span.Attempt > 1 {
		where += fmt.Sprintf(", attempt %d", span.Attempt)
	}
	switch span.Kind {
	case Fork:
		return s.bar(span.Start, span.End, "fork", where+": fork "+length)
	case Unit:
		b := s.bar(span.Start, span.End, "unit "+span.State.class(), fmt.Sprintf("%s: %s, %s, %s", where, label(span.Label), span.State, length))
		b.Y, b.Height = barHeight+1, unitHeight
		if span.State != Passed {
			b.Height = rowHeight/2 - barHeight/2 - 1 // thicker: colour alone tells not everybody
		}
		b.Width = max(b.Width-0.7, minBar/2) // a gap, so that two are two
		return b
	}
	b := s.bar(span.Start, span.End, "command "+span.State.class(), fmt.Sprintf("%s: %s after %s", where, span.State, length))
	b.Hatched = span.State != Passed
	if span.Attempt > 1 {
		b.Mark = fmt.Sprintf("↻%d", span.Attempt)
	}
	return b
}

func (s scale) text(span Span) string {
	if span.Kind == Fork {
		return "fork"
	}
	return span.State.mark() + " " + span.State.String() + " " + long(span.End-span.Start)
}

// roomAfter is where the next thing of the row begins.
func (s scale) roomAfter(rest []Span, of Span) float64 {
	next := plotRight
	for _, r := range rest {
		if r.Kind != Unit && r.Start >= of.Start {
			next = min(next, s.x(r.Start))
		}
	}
	return next
}

// place puts the text into its bar, or behind it, or nowhere: the bar's title has it too.
func (s scale) place(b *bar, text string, until float64) {
	width := textWidth(text) + 8
	switch {
	case width <= b.Width:
		b.Text, b.TextX = text, b.X+5
	case b.Class != "fork" && b.Right()+width <= until:
		b.Text, b.TextX, b.Outside = text, b.Right()+5, true
	}
}

func countUnits(c Child) int {
	n := 0
	for _, s := range c.Spans {
		if s.Kind == Unit {
			n++
		}
	}
	return n
}
