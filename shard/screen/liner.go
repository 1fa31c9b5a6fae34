package screen

import (
	"bytes"
	"unicode/utf8"

	"github.com/boxer-ci/boxer/report/text"
)

// maxLine is how much of a line waits for its end. A longer one is shown in pieces.
const maxLine = 64 << 10

// Liner cuts a stream into whole lines, each with the shard's prefix and harmless to whoever shows it, so that the
// lines of several shards never mix. A carriage return ends a line too: a progress bar becomes lines, and nothing can
// hide behind one.
type Liner struct {
	Prefix string
	Plain  bool               // without colours
	Emit   func(block []byte) // gets whole lines, many at once
	open   []byte             // the line that has not ended
	cr     bool               // the last line ended with a carriage return
	block  []byte
}

// Write takes the next piece of the stream.
func (l *Liner) Write(p []byte) {
	for len(p) > 0 {
		n := lineEnd(p)
		if room := maxLine - len(l.open); n > room {
			n = room
		}
		if n > 0 {
			l.open = append(l.open, p[:n]...)
			p, l.cr = p[n:], false
		}
		switch {
		case len(l.open) == maxLine && (len(p) == 0 || !isEnd(p[0])):
			l.piece()
		case len(p) == 0:
		case p[0] == '\n':
			if !l.cr || len(l.open) > 0 {
				l.line()
			}
			p, l.cr = p[1:], false
		default:
			if len(l.open) > 0 {
				l.line()
				l.cr = true
			}
			p = p[1:]
		}
	}
	l.give()
}

func isEnd(b byte) bool { return b == '\n' || b == '\r' }

func lineEnd(p []byte) int {
	for _, end := range "\n\r" {
		if i := bytes.IndexByte(p, byte(end)); i >= 0 {
			p = p[:i]
		}
	}
	return len(p)
}

// piece shows the start of a line that is too long, up to a whole character.
func (l *Liner) piece() {
	cut := len(l.open)
	for i := 1; i < utf8.UTFMax; i++ {
		if b := l.open[len(l.open)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(l.open[len(l.open)-i:]) {
				cut -= i
			}
			break
		}
	}
	rest := append([]byte(nil), l.open[cut:]...)
	l.open = l.open[:cut]
	l.line()
	l.open = append(l.open, rest...)
}

func (l *Liner) line() {
	l.block = append(l.block, l.Prefix...)
	if l.Plain {
		l.block = text.AppendPlain(l.block, l.open)
	} else {
		l.block = text.AppendHarmless(l.block, l.open)
	}
	l.block = append(l.block, '\n')
	l.open = l.open[:0]
	if len(l.block) >= maxLine {
		l.give()
	}
}

func (l *Liner) give() {
	if len(l.block) > 0 {
		l.Emit(l.block)
		l.block = l.block[:0]
	}
}

// Flush shows a last line without an end.
func (l *Liner) Flush() {
	if len(l.open) > 0 {
		l.line()
	}
	l.give()
}
