package report

import (
	"strconv"
	"strings"
)

const idName = "boxer-id"

// document writes the report as go-junit gets it: of one top-level suite, and in pieces if that is big. Each suite carries
// an id, under which the piece has what go-junit has no place for, of its cases too, in their order.
type document struct {
	source     *source
	line       *line
	piece      *piece   // being written
	suites     []*suite // of the top-level suite, in document order; the id is the index
	openSuites []int
}

type extra struct {
	verdict                      verdict
	time, file, line, assertions string
	props                        []property
	runs                         []run
}

func (d *document) open(s *suite) {
	if d.piece == nil {
		d.piece = d.line.blank(d.source)
	}
	id := len(d.suites)
	d.suites = append(d.suites, s)
	d.openSuites = append(d.openSuites, id)
	d.startTag(id)
}

func (d *document) startTag(id int) {
	d.piece.xml.tag("testsuite", attr{idName, strconv.Itoa(id)}, attr{"name", d.suites[id].name})
}

func (d *document) close(s *suite) {
	xml := &d.piece.xml
	xml.element("system-out", s.outClip.text(cleanText))
	xml.element("system-err", s.errClip.text(cleanText))
	s.outClip, s.errClip = clip{}, clip{}
	xml.end("testsuite")
	d.openSuites = d.openSuites[:len(d.openSuites)-1]
	if len(d.openSuites) == 0 {
		d.piece.last = true
		d.handOver()
		d.suites = nil
	}
}

// add writes a finished case, with exactly one result element at most.
func (d *document) add(s *suite, c *draft) {
	v := c.verdict()
	e := extra{verdict: v, time: c.time, file: c.file, line: c.line, assertions: c.assertions, props: c.props}
	for _, r := range c.runs {
		if r.promoted {
			continue
		}
		r.body, r.run.out, r.run.err = strings.TrimSpace(r.text.text(cleanText)), r.out.text(cleanText), r.err.text(cleanText)
		e.runs = append(e.runs, r.run)
	}
	if c.classname == "" {
		c.classname = s.own
	}
	id := d.openSuites[len(d.openSuites)-1]
	d.piece.extras[id] = append(d.piece.extras[id], e)
	xml := &d.piece.xml
	inside := xml.tag("testcase", attr{"name", c.name}, attr{"classname", c.classname})
	if v.status != Passed {
		xml.result(element(v.status), v.message, v.typ, v.body)
	}
	xml.element("system-out", c.out.text(cleanText))
	xml.element("system-err", c.err.text(cleanText))
	xml.endOf("testcase", inside)
	if len(*xml) > documentSize {
		d.split()
	}
}

// split hands over what there is and opens the same suites again, so that a suite of any size needs little memory.
func (d *document) split() {
	for range d.openSuites {
		d.piece.xml.end("testsuite")
	}
	d.handOver()
	d.piece = d.line.blank(d.source)
	for _, id := range d.openSuites {
		d.startTag(id)
	}
}

func (d *document) handOver() {
	d.piece.suites, d.piece.props = d.suites, d.suites[0].props
	d.line.put(d.piece)
	d.piece = nil
}
