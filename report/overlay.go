package report

// overlay lays the later attempts of a shard over the first. It reads the first attempt twice, so that of all its
// cases only the verdicts are kept, and of the later ones only what changes something.
type overlay struct {
	in       *line
	verdicts map[key]Status
	later    map[key][]record // what is laid over a case, in order
	added    []*suite         // tests that no attempt before had
	growing  *suite           // the last of them, while its report goes on
	keys     map[*suite][]key // of the cases in added
}

// merge emits the suites of all attempts as one.
func (o *overlay) merge(attempts []*attempt, emit func(*suite)) {
	first := generation(attempts)
	seen := ordinals{}
	for _, a := range first {
		a.suites(o.in, func(s *suite) { o.note(s, seen) })
	}
	for rest := attempts[len(first):]; len(rest) > 0; {
		next := generation(rest)
		seen := ordinals{}
		for _, a := range next {
			a.suites(o.in, func(s *suite) { o.add(s, seen) })
		}
		rest = rest[len(next):]
	}
	seen = ordinals{}
	for _, a := range first {
		a.suites(o.in, func(s *suite) {
			for i := range s.cases {
				c := &s.cases[i]
				o.apply(c, seen.next(c.identity(s.hostname)))
			}
			emit(s)
		})
	}
	for _, s := range o.added {
		for i := range s.cases {
			o.apply(&s.cases[i], o.keys[s][i])
		}
		emit(s)
	}
}

// generation is the head of the attempts that share the number of the first: the batches of one go.
func generation(attempts []*attempt) []*attempt {
	n := 0
	for n < len(attempts) && attempts[n].Attempt.Attempt == attempts[0].Attempt.Attempt {
		n++
	}
	return attempts[:n]
}

func (o *overlay) note(s *suite, seen ordinals) {
	for i := range s.cases {
		c := &s.cases[i]
		o.verdicts[seen.next(c.identity(s.hostname))] = c.Status
	}
}

// add keeps of a later attempt the new tests and the changed verdicts.
func (o *overlay) add(s *suite, seen ordinals) {
	var fresh []record
	var keys []key
	for i := range s.cases {
		c := s.cases[i]
		k := seen.next(c.identity(s.hostname))
		before, known := o.verdicts[k]
		switch {
		case !known:
			o.verdicts[k] = c.Status
			fresh, keys = append(fresh, c), append(keys, k)
		case replaces(before, c.Status):
			o.later[k] = append(o.later[k], c)
			o.verdicts[k] = lay(record{Case: Case{Status: before}}, record{Case: Case{Status: c.Status}}).Status
		}
	}
	o.keep(s, fresh, keys)
}

// keep adds new tests as a suite, or to that of which s is a later part.
func (o *overlay) keep(s *suite, fresh []record, keys []key) {
	if !s.begun {
		o.growing = nil
	}
	switch to := o.growing; {
	case to != nil:
		to.cases, to.out, to.err = append(to.cases, fresh...), s.out, s.err
		o.keys[to] = append(o.keys[to], keys...)
	case len(fresh) > 0:
		s.cases, s.nested = fresh, true // its time counts tests that are not in it, so it is summed up
		o.added, o.growing = append(o.added, s), s
		o.keys[s] = keys
	}
	s.begun, s.more = false, false
}

func (o *overlay) apply(c *record, k key) {
	for _, later := range o.later[k] {
		*c = lay(*c, later)
	}
}

// replaces says whether a later verdict changes anything. A skipped run tells nothing, and a second pass nothing new.
func replaces(before, later Status) bool {
	switch {
	case later.Bad(), later == Flaky && before == Passed:
		return true
	case later == Passed, later == Flaky:
		return before.Bad() || before == Skipped
	}
	return false
}

// lay gives the case after a later run of it that replaces it. What was bad before is kept as an earlier run.
func lay(before, later record) record {
	runs := before.runs
	if before.Status.Bad() {
		runs = append(runs, before.asRun())
	}
	later.runs = append(runs, later.runs...)
	later.attached = attachedTogether(before.attached, later.attached)
	later.settle()
	return later
}
