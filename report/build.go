package report

import "strings"

type place int

const (
	inRoot   place = iota // a <testsuites>, or the file itself
	inSuite               // a <testsuite>
	inCase                // a <testcase>
	inResult              // a <failure>, <error> or <skipped>
	inRun                 // a <flakyFailure>, <rerunFailure> or their like
	inText                // a <system-out>, a <property>, and whatever stands in one
)

// frame is one open element. An element that nobody knows is one of the same place as that around it: its cases count.
type frame struct {
	place place
	sink  *clip // where text goes; nil: nowhere
	suite *suite
	draft *draft
	run   *runDraft
	own   bool   // opened place, so its end closes it
	end   func() // what is left to do at its end
}

// builder turns the tokens of one file into suites and writes them for go-junit.
type builder struct {
	document document
	rootName string
	loose    *suite // for cases outside of any suite
	frames   []frame
	spare    *draft // of a case that has ended
}

func (b *builder) build(sc *scanner) error {
	for {
		t, err := sc.next()
		if err != nil {
			b.abandon()
			return err
		}
		switch t.kind {
		case startToken:
			b.frames = append(b.frames, b.start(t))
		case endToken:
			b.finish()
		case textToken:
			if top := b.top(); top.sink != nil {
				top.sink.write(t.text)
			}
		case endOfFile:
			b.closeLoose()
			return nil
		}
	}
}

func (b *builder) top() frame {
	if len(b.frames) == 0 {
		return frame{place: inRoot}
	}
	return b.frames[len(b.frames)-1]
}

func (b *builder) finish() {
	f := b.top()
	b.frames = b.frames[:len(b.frames)-1]
	if f.end != nil {
		f.end()
	}
	if len(b.frames) == 0 {
		b.closeLoose()
		b.rootName = ""
	}
}

// abandon ends what a file that ends too early left open. The open test case is kept only if it is known to be bad.
func (b *builder) abandon() {
	for len(b.frames) > 0 {
		f := b.top()
		if f.place == inCase && f.own && !f.draft.verdict().status.Bad() {
			b.frames[len(b.frames)-1].end = nil
		}
		b.finish()
	}
	b.closeLoose()
}

func (b *builder) start(t token) frame {
	f := b.top()
	f.end, f.own = nil, false
	if len(b.frames) == 0 && t.name == "testsuites" {
		b.rootName = cleanName(t.attr("name"))
		return f
	}
	switch f.place {
	case inRoot, inSuite:
		return b.startInSuite(f, t)
	case inCase:
		return b.startInCase(f, t)
	case inRun:
		return startInRun(f, t)
	}
	return f
}

func (b *builder) startInSuite(f frame, t token) frame {
	switch t.name {
	case "testsuite", "testsuites":
		return b.startSuite(f, t)
	case "testcase":
		return b.startCase(f, t)
	case "failure", "error":
		return b.startSuiteResult(f, t)
	case "system-out", "system-err", "property":
		if f.suite != nil {
			return startText(f, t, &f.suite.outClip, &f.suite.errClip, &f.suite.props)
		}
	}
	return f
}

func (b *builder) startInCase(f frame, t token) frame {
	switch t.name {
	case "testsuite", "testsuites":
		return b.startSuite(f, t)
	case "testcase":
		return b.startCase(f, t)
	case "failure", "error", "skipped":
		return startResult(f, t)
	case "flakyFailure", "flakyError", "rerunFailure", "rerunError":
		return startRun(f, t)
	case "system-out", "system-err", "property":
		return startText(f, t, &f.draft.out, &f.draft.err, &f.draft.props)
	}
	return f
}

func (b *builder) startSuite(f frame, t token) frame {
	if f.suite == nil {
		b.closeLoose()
	}
	s := newSuite(f.suite, t)
	b.document.open(s)
	return frame{place: inSuite, suite: s, own: true, end: func() { b.document.close(s) }}
}

func (b *builder) closeLoose() {
	if b.loose != nil {
		s := b.loose
		b.loose = nil
		b.document.close(s)
	}
}

// suiteFor opens a suite for a case that stands in none.
func (b *builder) suiteFor(f frame) *suite {
	if f.suite != nil {
		return f.suite
	}
	if b.loose == nil {
		b.loose = newSuite(nil, token{attrs: []rawAttr{{"name", []byte(b.rootName)}}})
		b.document.open(b.loose)
	}
	return b.loose
}

func (b *builder) startCase(f frame, t token) frame {
	s, d := b.suiteFor(f), b.spare
	if b.spare = nil; d == nil {
		d = &draft{}
	}
	d.begin(t)
	return frame{place: inCase, suite: s, draft: d, own: true, end: func() {
		b.document.add(s, d)
		b.spare = d
	}}
}

// startSuiteResult makes a failure of a whole suite a case: consumers count cases.
func (b *builder) startSuiteResult(f frame, t token) frame {
	c := b.startCase(f, token{attrs: []rawAttr{{"name", []byte("(suite)")}}})
	r := startResult(c, t)
	r.end = c.end
	return r
}

func startResult(f frame, t token) frame {
	found := &finding{kind: Skipped, body: clip{limit: maxBody}}
	switch t.name {
	case "failure":
		found.kind = Failed
	case "error":
		found.kind = Errored
	}
	found.message, found.typ = cleanMessage(t.attr("message")), cleanShort(t.attr("type"))
	f.draft.findings = append(f.draft.findings, found)
	f.place, f.sink = inResult, &found.body
	return f
}

func startRun(f frame, t token) frame {
	r := &runDraft{flaky: strings.HasPrefix(t.name, "flaky")}
	r.kind, r.message, r.typ = Failed, cleanMessage(t.attr("message")), cleanShort(t.attr("type"))
	if strings.HasSuffix(t.name, "Error") {
		r.kind = Errored
	}
	if n, ok := seconds(t.attr("time")); ok {
		r.seconds = formatSeconds(n)
	}
	r.text.limit, r.out.limit, r.err.limit = maxBody, maxOutput, maxOutput
	f.draft.runs = append(f.draft.runs, r)
	f.place, f.sink, f.run = inRun, &r.text, r
	return f
}

func startInRun(f frame, t token) frame {
	if t.name == "system-out" || t.name == "system-err" {
		return startText(f, t, &f.run.out, &f.run.err, nil)
	}
	return f // a <stackTrace>: its text is the body
}

// startText sends the text of an output or a property where it belongs. A second output goes below the first.
func startText(f frame, t token, out, err *clip, props *[]property) frame {
	f.place = inText
	switch t.name {
	case "system-out":
		out.newline()
		f.sink = out
	case "system-err":
		err.newline()
		f.sink = err
	default:
		text := &clip{limit: maxMessage}
		f.sink = text
		name, value := cleanName(t.attr("name")), cleanMessage(t.attr("value"))
		f.end = func() {
			if value == "" {
				value = text.text(cleanText)
			}
			*props = append(*props, property{name, value})
		}
	}
	return f
}

func newSuite(parent *suite, t token) *suite {
	s := &suite{
		own: cleanName(t.attr("name")), hostname: cleanShort(t.attr("hostname")), file: cleanShort(t.attr("file")),
		timestamp: t.attr("timestamp"), time: t.attr("time"),
	}
	s.outClip, s.errClip = clip{limit: maxOutput}, clip{limit: maxOutput}
	s.name = s.own
	if parent != nil {
		parent.nested, s.parent = true, parent
		s.name = join(parent.name, s.own)
	}
	return s
}

func join(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return shorten(outer+" > "+inner, maxName, true)
}
