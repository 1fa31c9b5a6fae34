package report

// mask takes what must not be told out of all texts of a suite. A report can write a secret in ways that only its
// reader sees through: in references, in another encoding, in pieces. So it is done after reading.
func (s *suite) mask(hide func(string) string) {
	if hide == nil {
		return
	}
	texts := []*string{&s.name, &s.own, &s.hostname, &s.file, &s.out, &s.err}
	texts = append(texts, values(s.props)...)
	for i := range s.cases {
		c := &s.cases[i]
		texts = append(texts, &c.Suite, &c.Classname, &c.Name, &c.File, &c.Message, &c.Type, &c.Body, &c.line, &c.assertions, &c.out, &c.err)
		texts = append(texts, values(c.props)...)
		for j := range c.runs {
			r := &c.runs[j]
			texts = append(texts, &r.message, &r.typ, &r.body, &r.out, &r.err)
		}
	}
	for _, t := range texts {
		if *t != "" {
			*t = hide(*t)
		}
	}
}

func values(props []property) []*string {
	var out []*string
	for i := range props {
		out = append(out, &props[i].name, &props[i].value)
	}
	return out
}

// mask does the same for an error case, which quotes reports and outputs.
func (e *ErrorCase) mask(hide func(string) string) {
	if hide != nil {
		e.Message, e.Body = hide(e.Message), hide(e.Body)
	}
}
