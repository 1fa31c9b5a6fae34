package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// merger writes one merged report and counts what it writes.
type merger struct {
	options Options
	size    size
	in      *line
	out     *output
	names   *naming
	ledger  *ledger
	result  Result
	slowest slowest
	files   *fileTimes
	roll    roll
	shard   *Shard // being merged
	suite   Totals // of the parts of the suite that is being written
}

func newMerger(o Options, size size, path string, in *line, suites *suiteNames) *merger {
	return &merger{options: o, size: size, in: in, names: newNaming(suites, cmp.Or(o.given, maxGiven)), files: newFileTimes(), out: newOutput(path, o)}
}

// merge writes all that the attempts of one shard gave, boxer's own error cases last.
func (m *merger) merge(attempts []*attempt, all [][]*attempt) {
	last := attempts[len(attempts)-1]
	m.shard = &Shard{Number: last.Shard, Of: last.Of, Attempts: last.Attempt.Attempt}
	first := generation(attempts)
	m.ledger = newLedger(first)
	if len(first) < len(attempts) {
		o := overlay{in: m.in, verdicts: map[key]Status{}, later: map[key][]record{}, keys: map[*suite][]key{}}
		o.merge(attempts, m.write)
	} else {
		for _, a := range first {
			a.suites(m.in, m.write)
		}
	}
	standing := m.errorCases(attempts, othersHadCases(attempts, all))
	m.note(attempts)
	m.closeShard(attempts, standing)
}

func othersHadCases(attempts []*attempt, all [][]*attempt) bool {
	return slices.ContainsFunc(all, func(other []*attempt) bool {
		return other[0].Shard != attempts[0].Shard && slices.ContainsFunc(other, (*attempt).hasCases)
	})
}

// errorCases writes those for which no later attempt made up, and says how many.
func (m *merger) errorCases(attempts []*attempt, others bool) int {
	n := 0
	for i, a := range attempts {
		kind := a.trouble(others)
		if kind == "" || madeUp(a, attempts[i+1:], others) {
			continue
		}
		e := a.errorCase(kind)
		e.mask(m.options.Mask)
		m.write(e.suite(a))
		m.result.ErrorCases = append(m.result.ErrorCases, e)
		m.result.Incomplete = m.result.Incomplete || kind == NotRun || a.Configured && len(a.errs) > 0
		n++
	}
	return n
}

// madeUp says whether a later go of the same command ended well.
func madeUp(a *attempt, later []*attempt, others bool) bool {
	return slices.ContainsFunc(later, func(l *attempt) bool {
		return l.Batch == a.Batch && l.vouched() && l.trouble(others) == ""
	})
}

// note collects what people should know although it changes no verdict.
func (m *merger) note(attempts []*attempt) {
	for _, a := range attempts {
		m.result.Unread = append(m.result.Unread, a.errs...)
		for _, w := range append(a.warnings, a.attached.warnings()...) {
			m.warn("%s: %s", a.label(), w)
		}
		if a.vouched() && a.bad > 0 {
			shows := fmt.Sprintf("%d bad cases; they count", a.bad)
			if a.bad == 1 {
				shows = "1 bad case; it counts"
			}
			m.warn("%s: the command ended with exit code 0, but its report shows %s", a.label(), shows)
		}
	}
}

func (m *merger) warn(format string, args ...any) {
	if len(m.result.Warnings) < maxWarnings {
		m.result.Warnings = append(m.result.Warnings, fmt.Sprintf(format, args...))
	}
}

func (m *merger) closeShard(attempts []*attempt, standing int) {
	s := m.shard
	for _, a := range attempts {
		s.Checked = s.Checked || len(a.sources) > 0
		if a.Attempt.Attempt == s.Attempts && s.Exit == 0 {
			s.Exit = a.Exit
		}
	}
	switch {
	case standing > 0:
		s.State = "error"
	case s.Bad() > 0:
		s.State = "failed"
	case s.Tests == 0:
		s.State = "empty"
	default:
		s.State = "passed"
	}
	m.ledger.close(s)
	m.result.Totals = m.result.Totals.plus(s.Totals)
	m.result.Shards = append(m.result.Shards, *s)
}

func (m *merger) finish() (Result, error) {
	r := &m.result
	r.Empty = r.Tests == len(r.ErrorCases)
	r.Slowest, r.Files, r.Roll = m.slowest.list(), m.files.list(), m.roll.cases
	switch {
	case m.out.size > m.out.limit:
		m.warn("the merged report has %d bytes; GitLab ignores one over %d", m.out.size, m.out.limit)
	case m.size != whole:
		m.warn("outputs of passed cases%s were left out to keep the merged report under %d bytes", m.size.more(), m.out.limit)
	}
	return *r, m.out.commit(r.Totals)
}

// write gives each case its final name, counts it and writes the suite.
func (m *merger) write(s *suite) {
	m.ledger.add(s)
	m.names.begin(s)
	totals := Totals{}
	for i := range s.cases {
		c := &s.cases[i]
		c.Name, c.SuiteFile = m.names.name(c), s.file
		totals.count(c.Status)
		totals.Seconds += c.Seconds
		m.list(c)
		m.slowest.add(&c.Case)
		m.files.add(s, &c.Case)
		if m.options.Roll {
			m.roll.add(&c.Case)
		}
		m.size.squeeze(c, m.out)
	}
	m.size.squeezeSuite(s, m.out)
	if s.begun {
		totals = m.suite.plus(totals)
	}
	if m.suite = totals; !s.more {
		if n, ok := seconds(s.time); ok && !s.nested {
			totals.Seconds = n
		}
		m.shard.Totals = m.shard.Totals.plus(totals)
	}
	writeSuite(m.out, s, totals, m.properties(s))
}

func (m *merger) list(c *record) {
	if m.options.Visit != nil {
		m.options.Visit(c.Case)
	}
	switch {
	case c.Status.Bad() && len(m.result.Failed) < maxListed && !c.own:
		m.result.Failed = append(m.result.Failed, listed(c.Case, c))
	case c.Status == Flaky && len(m.result.FlakyCases) < maxListed:
		last := c.runs[len(c.runs)-1]
		shown := c.Case
		shown.Message, shown.Type, shown.Body = last.message, last.typ, last.body
		m.result.FlakyCases = append(m.result.FlakyCases, listed(shown, c))
	}
}

// listed cuts the texts and copies them, so that a list does not hold on to the whole.
func listed(shown Case, from *record) Case {
	c := named(&shown)
	c.Message, c.Type, c.Body, c.Out, c.Err = shown.Message, shown.Type, shown.Body, from.out, from.err
	for _, text := range []*string{&c.Message, &c.Type, &c.Body, &c.Out, &c.Err} {
		*text = strings.Clone(shorten(*text, maxListedText, false))
	}
	c.Attachments, c.Earlier = from.attached, len(from.runs)
	return c
}

// properties stand in front of the suite's own.
func (m *merger) properties(s *suite) []property {
	a := s.attempt
	if a.Merged {
		return s.props
	}
	return append([]property{
		{"boxer.shard", a.title()},
		{"boxer.attempt", strconv.Itoa(a.Attempt.Attempt)},
		{"boxer.exit_code", strconv.Itoa(a.Exit)},
		{"boxer.wall_seconds", formatSeconds(a.Wall.Seconds())},
	}, s.props...)
}

func (t *Totals) count(s Status) {
	t.Tests++
	switch s {
	case Failed:
		t.Failures++
	case Errored:
		t.Errors++
	case Skipped:
		t.Skipped++
	case Flaky:
		t.Flaky++
		t.Passed++
	default:
		t.Passed++
	}
}

func (t Totals) plus(u Totals) Totals {
	return Totals{
		t.Tests + u.Tests, t.Passed + u.Passed, t.Failures + u.Failures, t.Errors + u.Errors,
		t.Skipped + u.Skipped, t.Flaky + u.Flaky, t.Seconds + u.Seconds,
	}
}
