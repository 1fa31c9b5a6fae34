package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// attempt is an Attempt whose reports were looked through.
type attempt struct {
	Attempt
	options  Options
	sources  []*source
	errs     []*ReadError
	warnings []string
	attached *attachments

	cases, bad int // as counted when its suites were read last
}

func inspectAttempt(a Attempt, names *suiteNames, o Options) *attempt {
	in := &attempt{Attempt: a, options: o, attached: newAttachments(a.Artifact)}
	for _, name := range in.missing() {
		err := refuse(Missing, 1, "no report, or none newer than the start of the command")
		err.File = name
		in.addError(err)
	}
	files := slices.Clone(a.Reports)
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range files {
		src := inspect(file, names, o.Stop)
		if src.err != nil && src.err.Kind == NotJUnit && !a.Configured {
			in.warnings = append(in.warnings, "not read: "+src.err.Error())
			continue // boxer only guessed that it was a report
		}
		in.sources = append(in.sources, src)
		if src.err != nil {
			in.addError(src.err)
		}
		if src.stray > 0 {
			in.warnings = append(in.warnings, fmt.Sprintf("%s:%d: plain text outside of the report", src.Name, src.stray))
		}
	}
	return in
}

func (a *attempt) missing() []string {
	if a.NotRun != "" {
		return nil // it could not write one
	}
	if a.Configured && len(a.Reports) == 0 && len(a.Missing) == 0 {
		return []string{"JUnit report"}
	}
	return a.Missing
}

func (a *attempt) addError(err *ReadError) {
	err.Shard, err.Attempt = a.Shard, a.Attempt.Attempt
	a.errs = append(a.errs, err)
}

// title is how the shard is shown: `2/4`.
func (a *attempt) title() string {
	return strconv.Itoa(a.Shard) + "/" + strconv.Itoa(max(a.Of, a.Shard))
}

// label is how the attempt is shown.
func (a *attempt) label() string { return cmp.Or(a.Title, "shard "+a.title()) }

// unchecked says that no report was asked for and none found, so that only the exit code tells how it went.
func (a *attempt) unchecked() bool {
	return !a.Configured && len(a.sources) == 0 && len(a.Missing) == 0
}

// vouched says that the command itself says that all is well.
func (a *attempt) vouched() bool {
	return a.Exit == 0 && a.Signal == "" && a.Killed == "" && a.NotRun == "" && !a.Merged
}

func (a *attempt) hasCases() bool { return casesOf([]*attempt{a}) > 0 }

// casesOf counts the cases in the reports as they were looked through.
func casesOf(attempts []*attempt) int {
	n := 0
	for _, a := range attempts {
		for _, s := range a.sources {
			n += s.cases
		}
	}
	return n
}

// suites takes the suites of the reports out of the line and emits them in order, with every rule applied that looks at
// one attempt.
func (a *attempt) suites(in *line, emit func(*suite)) {
	a.cases, a.bad = 0, 0
	prepared := func(s *suite) {
		a.prepare(s)
		if len(s.cases) > 0 || s.begun || s.more {
			emit(s)
		}
	}
	a.take(in, prepared)
	if a.unchecked() && a.ended() == "" {
		prepared(a.exitSuite())
	}
}

// take gives the suites as they were written.
func (a *attempt) take(in *line, emit func(*suite)) {
	lost := map[*source]error{}
	for p := in.next(); !p.end; p = in.next() {
		known := lost[p.source] != nil
		if !known {
			lost[p.source] = p.collect(a.vouched())
		}
		switch {
		case known:
		case lost[p.source] != nil:
			p.abandon(emit)
		case p.last:
			p.emit(emit)
		case p.isBig(a.partSize()) && !a.joins(p.source):
			p.emitPart(emit)
		}
		in.putBack(p)
	}
	for _, s := range a.sources {
		if err := s.readError(lost[s]); err != nil && s.err == nil { // the file is not what it was a moment ago
			s.err = err
			a.addError(err)
		}
	}
}

func (a *attempt) prepare(s *suite) {
	s.attempt = a
	if s.hostname == a.Hostname { // another child has another one, and there it is the same test
		s.hostname = ""
	}
	if a.joinsReruns() {
		s.cases = joinReruns(s.cases)
	}
	a.attached.rewrite(s)
	s.mask(a.options.Mask)
	shard, number := a.Shard, a.Attempt.Attempt
	if a.Merged {
		shard, number = s.propertyNumber("boxer.shard"), s.propertyNumber("boxer.attempt")
	}
	for i := range s.cases {
		c := &s.cases[i]
		c.Shard, c.Attempt = shard, number
	}
	if a.Merged && a.Skip != nil {
		s.cases = slices.DeleteFunc(s.cases, func(c record) bool { return a.Skip(c.Case) })
	}
	for i := range s.cases {
		c := &s.cases[i]
		a.cases++
		if c.Status.Bad() {
			a.bad++
		}
	}
}

func (a *attempt) joinsReruns() bool { return a.vouched() && a.options.Reruns != "never" }

// joins says whether a suite of the source must be seen as a whole.
func (a *attempt) joins(s *source) bool { return a.joinsReruns() && s.mayFail }

func (a *attempt) partSize() int { return cmp.Or(a.options.part, maxPart) }

// propertyNumber reads one of the properties that Merge writes: 5 of `5/20`. It is 0 where there is none.
func (s *suite) propertyNumber(name string) int {
	i := slices.IndexFunc(s.props, func(p property) bool { return p.name == name })
	if i < 0 {
		return 0
	}
	text, _, _ := strings.Cut(s.props[i].value, "/")
	n, _ := strconv.Atoi(text)
	return n
}

// exitSuite is the one case of a shard without a report.
func (a *attempt) exitSuite() *suite {
	c := record{Case: Case{
		Suite: OwnSuite, Classname: OwnSuite, Name: a.label(), Status: Passed, Seconds: a.Wall.Seconds(),
	}}
	if a.Exit != 0 {
		c.Status, c.Message, c.Type = Failed, fmt.Sprintf("exit code %d", a.Exit), "boxer.exit-code"
		c.Body = a.tail()
	}
	return &suite{name: OwnSuite, cases: []record{c}, synthetic: true}
}

func (a *attempt) tail() string {
	return shorten(cleanText(a.OutputTail), maxBody, false)
}
