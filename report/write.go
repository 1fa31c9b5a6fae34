package report

// writeSuite writes a suite, or a part of one. The totals are those up to here.
func writeSuite(o *output, s *suite, totals Totals, props []property) {
	x := &o.xml
	switch {
	case s.begun:
		props = props[min(o.propsWritten, len(props)):] // what a report has below its cases
	case s.more:
		o.leaveRoom(suiteTag(s, Totals{}))
	default:
		x.raw(suiteTag(s, totals))
	}
	if !s.begun {
		x.raw("\n")
		o.propsWritten = len(props)
	}
	if !s.begun || !s.more {
		x.properties(props)
	}
	for i := range s.cases {
		x.testCase(&s.cases[i])
		o.spill()
	}
	if s.more {
		return
	}
	x.element("system-out", s.out)
	x.element("system-err", s.err)
	x.end("testsuite")
	x.raw("\n")
	o.spill()
	if s.begun {
		o.fillRoom(suiteTag(s, totals))
	}
}

func suiteTag(s *suite, totals Totals) string {
	a := s.attempt
	var x xmlText
	attrs := append([]attr{{"name", s.name}}, totals.attributes()...)
	x.tag("testsuite", append(attrs, attr{"timestamp", timestamp(s.timestamp, a.Started, a.Wall)},
		attr{"hostname", s.hostname}, attr{"file", s.file})...)
	return string(x)
}

func (x *xmlText) testCase(c *record) {
	inside := x.tag("testcase", attr{"name", c.Name}, attr{"classname", c.Classname}, attr{"time", formatSeconds(c.Seconds)},
		attr{"file", c.File}, attr{"line", c.line}, attr{"assertions", c.assertions})
	x.properties(c.props)
	if c.Status != Passed && c.Status != Flaky {
		x.result(element(c.Status), c.Message, c.Type, c.Body)
	}
	for i := range c.runs {
		x.run(&c.runs[i], c.Status)
	}
	x.element("system-out", c.out)
	x.element("system-err", c.err)
	x.endOf("testcase", inside)
	x.raw("\n")
}

func (x *xmlText) properties(props []property) {
	if len(props) == 0 {
		return
	}
	x.raw("<properties>\n")
	for _, p := range props {
		x.tag("property", attr{"name", p.name}, attr{"value", p.value})
		x.raw("</property>\n")
	}
	x.raw("</properties>\n")
}

func (x *xmlText) result(name, message, typ, body string) {
	x.tag(name, attr{"message", message}, attr{"type", typ})
	x.text(body)
	x.end(name)
}

// run uses the elements of Surefire. Who does not know them sees a flaky case as passed.
func (x *xmlText) run(r *run, of Status) {
	name := "rerunFailure"
	switch {
	case of == Flaky && r.kind == Errored:
		name = "flakyError"
	case of == Flaky:
		name = "flakyFailure"
	case of == Skipped:
		return // nobody reads it there
	case r.kind == Errored:
		name = "rerunError"
	}
	x.tag(name, attr{"message", r.message}, attr{"type", r.typ}, attr{"time", r.seconds})
	x.element("stackTrace", r.body)
	x.element("system-out", r.out)
	x.element("system-err", r.err)
	x.end(name)
}
