package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/joshdk/go-junit"
)

const idName = "boxer-id"

// document is the report as go-junit gets it: of one top-level suite, and in pieces if that is big. Each suite and
// case carries an id, under which stands here what go-junit has no place for.
type document struct {
	xml        bytes.Buffer
	suites     []*suite // of the top-level suite, in document order; the id is the index
	openSuites []int
	extras     []extra // of the cases in xml; the id is the index
	vouched    bool    // the command ended with exit code 0
	err        error
}

type extra struct {
	verdict verdict
	props   []property
	runs    []run
}

func (d *document) open(s *suite) {
	id := len(d.suites)
	d.suites = append(d.suites, s)
	d.openSuites = append(d.openSuites, id)
	d.startTag(id)
}

func (d *document) startTag(id int) {
	writeTag(&d.xml, "testsuite", attr{idName, strconv.Itoa(id)}, attr{"name", d.suites[id].name})
}

func (d *document) close(s *suite) {
	writeText(&d.xml, "system-out", s.outClip.text(cleanText))
	writeText(&d.xml, "system-err", s.errClip.text(cleanText))
	s.outClip, s.errClip = clip{}, clip{}
	d.xml.WriteString("</testsuite>")
	d.openSuites = d.openSuites[:len(d.openSuites)-1]
	if len(d.openSuites) == 0 {
		d.ingest()
	}
}

// add writes a finished case, with exactly one result element at most.
func (d *document) add(s *suite, c *draft) {
	v := c.verdict()
	e := extra{verdict: v, props: c.props}
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
	writeTag(&d.xml, "testcase", attr{idName, strconv.Itoa(len(d.extras))}, attr{"name", c.name},
		attr{"classname", c.classname}, attr{"time", c.time}, attr{"file", c.file}, attr{"line", c.line},
		attr{"assertions", c.assertions})
	d.extras = append(d.extras, e)
	if v.status != Passed {
		writeResult(&d.xml, element(v.status), v.message, v.typ, v.body)
	}
	writeText(&d.xml, "system-out", c.out.text(cleanText))
	writeText(&d.xml, "system-err", c.err.text(cleanText))
	d.xml.WriteString("</testcase>")
	if d.xml.Len() > documentSize {
		d.split()
	}
}

// split hands over what there is and opens the same suites again, so that a suite of any size needs little memory.
func (d *document) split() {
	for range d.openSuites {
		d.xml.WriteString("</testsuite>")
	}
	d.ingest()
	for _, id := range d.openSuites {
		d.startTag(id)
	}
}

func (d *document) ingest() {
	read, err := junit.IngestReader(&d.xml)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("go-junit cannot read what boxer wrote for it: %w", err)
	}
	d.collect(read)
	d.xml.Reset()
	d.extras = d.extras[:0]
}

func (d *document) collect(read []junit.Suite) {
	for _, from := range read {
		s := d.suites[index(from.Properties)]
		s.out, s.err = from.SystemOut, from.SystemErr // the last piece has them
		for _, t := range from.Tests {
			s.cases = append(s.cases, d.record(s.name, t))
		}
		d.collect(from.Suites)
	}
}

func index(attributes map[string]string) int {
	n, _ := strconv.Atoi(attributes[idName])
	return n
}

// take gives the suites that were read and forgets them.
func (d *document) take() []*suite {
	done := d.suites
	d.suites = nil
	return done
}

func (d *document) record(suite string, t junit.Test) record {
	e := d.extras[index(t.Properties)]
	r := record{
		Case: Case{
			Suite: suite, Classname: t.Classname, Name: t.Name, File: t.Properties["file"],
			Status: Status(t.Status), Message: t.Message,
		},
		line: t.Properties["line"], assertions: t.Properties["assertions"],
		props: e.props, runs: e.runs, out: t.SystemOut, err: t.SystemErr,
	}
	r.Line, _ = strconv.Atoi(r.line)
	r.Seconds, _ = seconds(t.Properties["time"])
	if found, ok := t.Error.(junit.Error); ok {
		r.Type, r.Body = found.Type, found.Body
	}
	if r.Status == Skipped { // go-junit keeps only its message
		r.Body, r.Type = e.verdict.body, e.verdict.typ
	}
	if e.verdict.isTodo && d.vouched { // the runner does not count it: node's todo, Catch2's !mayfail
		r.Status, r.Message = Skipped, e.verdict.todo
	}
	r.settle()
	return r
}
