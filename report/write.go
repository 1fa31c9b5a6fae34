package report

import (
	"io"
	"strings"
)

// xmlWriter is a bytes.Buffer or a bufio.Writer; neither fails here.
type xmlWriter interface {
	io.StringWriter
	io.ByteWriter
}

func writeSuite(w xmlWriter, s *suite, totals Totals, props []property) {
	a := s.attempt
	attrs := append([]attr{{"name", s.name}}, totals.attributes()...)
	writeTag(w, "testsuite", append(attrs, attr{"timestamp", timestamp(s.timestamp, a.Started, a.Wall)},
		attr{"hostname", s.hostname}, attr{"file", s.file})...)
	w.WriteString("\n")
	writeProperties(w, props)
	for i := range s.cases {
		writeCase(w, &s.cases[i])
	}
	writeText(w, "system-out", s.out)
	writeText(w, "system-err", s.err)
	w.WriteString("</testsuite>\n")
}

func writeCase(w xmlWriter, c *record) {
	writeTag(w, "testcase", attr{"name", c.Name}, attr{"classname", c.Classname}, attr{"time", formatSeconds(c.Seconds)},
		attr{"file", c.File}, attr{"line", c.line}, attr{"assertions", c.assertions})
	writeProperties(w, c.props)
	if c.Status != Passed && c.Status != Flaky {
		writeResult(w, element(c.Status), c.Message, c.Type, c.Body)
	}
	for _, r := range c.runs {
		writeRun(w, r, c.Status)
	}
	writeText(w, "system-out", c.out)
	writeText(w, "system-err", c.err)
	w.WriteString("</testcase>\n")
}

func writeProperties(w xmlWriter, props []property) {
	if len(props) == 0 {
		return
	}
	w.WriteString("<properties>\n")
	for _, p := range props {
		writeTag(w, "property", attr{"name", p.name}, attr{"value", p.value})
		w.WriteString("</property>\n")
	}
	w.WriteString("</properties>\n")
}

func writeResult(w xmlWriter, name, message, typ, body string) {
	writeTag(w, name, attr{"message", message}, attr{"type", typ})
	escape(w, body, false)
	writeEnd(w, name)
}

// writeRun uses the elements of Surefire. Who does not know them sees a flaky case as passed.
func writeRun(w xmlWriter, r run, of Status) {
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
	writeTag(w, name, attr{"message", r.message}, attr{"type", r.typ}, attr{"time", r.seconds})
	writeText(w, "stackTrace", r.body)
	writeText(w, "system-out", r.out)
	writeText(w, "system-err", r.err)
	writeEnd(w, name)
}

type attr struct{ name, value string }

// writeTag leaves out what is empty, but for what consumers insist on.
func writeTag(w xmlWriter, name string, attrs ...attr) {
	w.WriteByte('<')
	w.WriteString(name)
	for _, a := range attrs {
		if a.value == "" && a.name != "name" && a.name != "classname" && a.name != "value" {
			continue
		}
		w.WriteByte(' ')
		w.WriteString(a.name)
		w.WriteString(`="`)
		escape(w, a.value, true)
		w.WriteByte('"')
	}
	w.WriteByte('>')
}

func writeText(w xmlWriter, name, text string) {
	if text != "" {
		writeTag(w, name)
		escape(w, text, false)
		writeEnd(w, name)
	}
}

func writeEnd(w xmlWriter, name string) {
	w.WriteString("</" + name + ">")
}

// escape writes clean text so that every reader gets back the same: without CDATA, and with the line ends of an
// attribute as references, since a reader would make spaces of them.
func escape(w xmlWriter, s string, attribute bool) {
	special := "&<>\r"
	if attribute {
		special = "&<>\r\"\n\t"
	}
	for {
		i := strings.IndexAny(s, special)
		if i < 0 {
			w.WriteString(s)
			return
		}
		w.WriteString(s[:i])
		w.WriteString(escapes(s[i]))
		s = s[i+1:]
	}
}

func escapes(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&#34;"
	case '\n':
		return "&#xA;"
	case '\t':
		return "&#x9;"
	}
	return "&#xD;"
}
