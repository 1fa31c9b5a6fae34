package report

import (
	"slices"
	"strings"
)

// finding is one result element of a case: a failure, an error or a skipped.
type finding struct {
	kind         Status
	message, typ string
	body         clip
}

func (f *finding) text() string { return f.body.text(cleanText) }

// draft is a case as its report has it, before any rule was applied.
type draft struct {
	name, classname, file string
	line, assertions      string
	time                  string
	status, result        string
	findings              []*finding
	runs                  []*runDraft
	props                 []property
	out, err              clip
}

type runDraft struct {
	run
	flaky          bool
	promoted       bool // is the result of its case
	text, out, err clip
}

func (d *draft) begin(t token) {
	*d = draft{
		name: cleanName(t.attr("name")), classname: cleanName(t.attr("classname")), file: cleanShort(t.attr("file")),
		line: cleanShort(t.attr("line")), assertions: cleanShort(t.attr("assertions")), time: cleanShort(t.attr("time")),
		status: strings.ToLower(t.attr("status")), result: strings.ToLower(t.attr("result")),
		out: clip{limit: maxOutput}, err: clip{limit: maxOutput},
	}
}

// verdict is the one result that a case is written with.
type verdict struct {
	status             Status
	message, typ, body string
	todo               string // reason of a skipped that stands beside a failure
	isTodo             bool
}

// verdict judges the case. A flaky run says that it passed in the end, unless there is a failure beside it.
func (d *draft) verdict() verdict {
	v := d.byElements()
	if v.status == Skipped && slices.ContainsFunc(d.runs, func(r *runDraft) bool { return r.flaky }) {
		return verdict{status: Passed}
	}
	return v
}

// byElements lets the worst result element win, but keeps the texts of all.
func (d *draft) byElements() verdict {
	worst := d.worst()
	if worst == nil {
		return d.byAttributes()
	}
	v := verdict{status: worst.kind, message: worst.message, typ: worst.typ}
	if worst.kind == Skipped {
		v.message = worst.reason()
	}
	body := clip{limit: maxBody}
	body.write([]byte(worst.text()))
	for _, f := range d.findings {
		if f == worst {
			continue
		}
		body.newline()
		body.write([]byte("--- also: " + element(f.kind) + ": " + f.message + "\n" + f.text()))
		if f.kind == Skipped && v.status.Bad() && !v.isTodo {
			v.todo, v.isTodo = f.reason(), true
		}
	}
	v.body = body.text(strings.Clone)
	return v
}

func (d *draft) worst() *finding {
	for _, kind := range []Status{Errored, Failed, Skipped} {
		if i := slices.IndexFunc(d.findings, func(f *finding) bool { return f.kind == kind }); i >= 0 {
			return d.findings[i]
		}
	}
	return nil
}

func (f *finding) reason() string {
	if f.message != "" {
		return f.message
	}
	return shorten(strings.TrimSpace(f.text()), maxMessage, false)
}

// byAttributes judges a case without a result element. Reruns belong to a failure; alone they are one.
func (d *draft) byAttributes() verdict {
	for _, r := range d.runs {
		if !r.flaky {
			r.promoted = true
			return verdict{status: r.kind, message: r.message, typ: r.typ, body: r.text.text(cleanText)}
		}
	}
	switch d.status {
	case "failed", "fail", "failure":
		return verdict{status: Failed, message: "status " + d.status}
	case "error":
		return verdict{status: Errored, message: "status " + d.status}
	case "notrun", "disabled", "skipped", "ignored", "suppressed":
		return verdict{status: Skipped, message: d.status}
	}
	if d.result == "suppressed" || d.result == "skipped" {
		return verdict{status: Skipped, message: d.result}
	}
	return verdict{status: Passed}
}

// element is the name of the result element of a status.
func element(s Status) string {
	switch s {
	case Failed:
		return "failure"
	case Errored:
		return "error"
	}
	return "skipped"
}
