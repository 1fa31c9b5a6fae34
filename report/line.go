package report

import "runtime"

// line holds what was read ahead: go-junit takes longer than all the rest, so it reads some pieces while others are
// written. The line is short, so that memory stays small however big the reports are.
type line struct {
	pieces chan *piece
	used   chan *piece // to be filled anew
	spare  spare       // of who takes them out
}

// readAhead reads the reports of the attempts in the order in which they will be taken out. All must be taken.
func readAhead(order []*attempt) *line {
	long := min(runtime.GOMAXPROCS(0), maxAhead)
	l := &line{pieces: make(chan *piece, long), used: make(chan *piece, long)}
	go func() {
		defer close(l.pieces)
		for _, a := range order {
			for _, s := range a.sources {
				l.read(s)
			}
			l.mark(&piece{end: true})
		}
	}()
	return l
}

func (l *line) read(s *source) {
	b := builder{document: document{source: s, line: l}}
	if err := s.read(&b); err != nil {
		l.mark(&piece{source: s, err: err})
	}
}

// blank gives a piece to write to.
func (l *line) blank(of *source) *piece {
	select {
	case p := <-l.used:
		*p = piece{source: of, spare: &l.spare, xml: p.xml[:0], extras: p.extras, done: p.done}
		return p
	default:
		return &piece{source: of, spare: &l.spare, extras: map[int][]extra{}, done: make(chan struct{}, 1)}
	}
}

// put starts reading the piece. It waits while the line is full.
func (l *line) put(p *piece) {
	go p.ingest()
	l.pieces <- p
}

// mark puts a piece that holds nothing.
func (l *line) mark(p *piece) {
	p.done = make(chan struct{}, 1)
	p.done <- struct{}{}
	l.pieces <- p
}

// next waits for the next piece to be read.
func (l *line) next() *piece {
	p := <-l.pieces
	<-p.done
	return p
}

func (l *line) putBack(p *piece) {
	if p.extras == nil || cap(p.xml) > 2*documentSize { // a mark, or one that holds too much
		return
	}
	first := p.extras[0] // a report without suites in suites has no other
	clear(first)
	clear(p.extras)
	p.extras[0] = first[:0]
	select {
	case l.used <- p:
	default:
	}
}
