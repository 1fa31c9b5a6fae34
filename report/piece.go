package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/joshdk/go-junit"
)

// piece is a part of a document on its way through go-junit.
type piece struct {
	source *source
	spare  *spare
	xml    xmlText
	extras map[int][]extra // of the cases in xml, by the id of their suite
	suites []*suite        // those that were open by then or before; the id is the index
	props  []property      // of the top-level suite that were read by then
	last   bool            // the top-level suite ends with it
	end    bool            // the attempt ends here, and there is nothing in it

	read []junit.Suite
	err  error         // of go-junit, or of the file if read is empty
	done chan struct{} // gets a value when read or err is there
}

func (p *piece) ingest() {
	p.read, p.err = junit.IngestReader(bytes.NewReader(p.xml))
	if p.err != nil {
		p.err = fmt.Errorf("go-junit cannot read what boxer wrote for it: %w", p.err)
	}
	p.done <- struct{}{}
}

// collect puts the cases of the piece into their suites.
func (p *piece) collect(vouched bool) error {
	p.fill(p.read, vouched)
	return p.err
}

func (p *piece) fill(read []junit.Suite, vouched bool) {
	for i := range read {
		from := &read[i]
		id := index(from.Properties)
		s, extras := p.suites[id], p.extras[id]
		s.out, s.err = from.SystemOut, from.SystemErr // the last piece has them
		s.size += len(p.xml)
		if s.cases == nil {
			s.cases = p.spare.take()
		}
		for j := range from.Tests {
			s.cases = append(s.cases, record{})
			s.cases[len(s.cases)-1].fill(s.name, &from.Tests[j], &extras[j], vouched)
		}
		p.fill(from.Suites, vouched)
	}
}

// emit gives the suites of the top-level one that ends with the piece. Their slices of cases are used again.
func (p *piece) emit(to func(*suite)) {
	for _, s := range p.suites {
		cases := s.cases
		if len(cases) > 0 || s.begun {
			to(s)
		}
		p.spare.putBack(cases)
	}
}

// emitPart gives what there is of a suite that is too big to be held as a whole. Its end may be being read meanwhile, so
// only what no longer changes is touched.
func (p *piece) emitPart(to func(*suite)) {
	s := p.suites[0]
	part := s.part()
	part.more, part.props, part.cases = true, slices.Clone(p.props), s.cases
	s.begun, s.cases, s.size = true, nil, 0
	cases := part.cases
	to(part)
	p.spare.putBack(cases)
}

// abandon ends a suite of which no more can be read.
func (p *piece) abandon(to func(*suite)) {
	if len(p.suites) > 0 && p.suites[0].begun {
		to(p.suites[0].part())
	}
}

// isBig says whether the top-level suite is to be written in parts. One with suites inside is not: they would have to
// wait for its last case.
func (p *piece) isBig(size int) bool { return len(p.suites) == 1 && p.suites[0].size > size }

// part is the suite without what was read of its inside.
func (s *suite) part() *suite {
	return &suite{
		name: s.name, own: s.own, hostname: s.hostname, file: s.file, timestamp: s.timestamp, time: s.time, begun: s.begun,
	}
}

func index(attributes map[string]string) int {
	n, _ := strconv.Atoi(attributes[idName])
	return n
}

func (r *record) fill(suite string, t *junit.Test, e *extra, vouched bool) {
	r.Suite, r.Classname, r.Name, r.File = suite, t.Classname, t.Name, e.file
	r.Status, r.Message = Status(t.Status), t.Message
	r.line, r.assertions = e.line, e.assertions
	r.props, r.runs, r.out, r.err = e.props, e.runs, t.SystemOut, t.SystemErr
	if r.line != "" {
		r.Line, _ = strconv.Atoi(r.line)
	}
	r.Seconds, _ = seconds(e.time)
	if found, ok := t.Error.(junit.Error); ok {
		r.Type, r.Body = found.Type, found.Body
	}
	if r.Status == Skipped { // go-junit keeps only its message
		r.Body, r.Type = e.verdict.body, e.verdict.typ
	}
	if e.verdict.isTodo && vouched { // the runner does not count it: node's todo, Catch2's !mayfail
		r.Status, r.Message = Skipped, e.verdict.todo
	}
	r.settle()
}

// spare keeps one slice of cases for the next suite.
type spare struct{ cases []record }

func (s *spare) take() []record {
	cases := s.cases
	s.cases = nil
	return cases
}

func (s *spare) putBack(cases []record) {
	if cap(cases) > cap(s.cases) && cap(cases) <= maxSpare {
		clear(cases)
		s.cases = cases[:0]
	}
}
