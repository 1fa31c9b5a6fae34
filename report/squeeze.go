package report

// size says how much of the outputs is written. Consumers ignore a report that is too big, and an ignored report hides
// every failure, so outputs go before that.
type size int

const (
	whole         size = iota
	withoutPassed      // without the output of passed cases
	smallest           // and other output cut short
)

func (s size) more() string {
	if s == smallest {
		return ", and the middle of long other outputs,"
	}
	return ""
}

// squeeze leaves out what the size says, and notes what a smaller size would spare.
func (s size) squeeze(c *record, out *output) {
	if c.Status == Passed {
		if s >= withoutPassed {
			c.out, c.err = "", ""
		}
		out.ofPassed += int64(len(c.out) + len(c.err))
		return
	}
	s.short(&c.out, out)
	s.short(&c.err, out)
	for i := range c.runs {
		s.short(&c.runs[i].out, out)
		s.short(&c.runs[i].err, out)
	}
}

func (s size) squeezeSuite(of *suite, out *output) {
	s.short(&of.out, out)
	s.short(&of.err, out)
}

func (s size) short(text *string, out *output) {
	if s == smallest {
		*text = shorten(*text, squeezedOutput, false)
	}
	out.overlong += int64(max(len(*text)-squeezedOutput, 0))
}

// smaller gives the size to try next, or the same one if the report is small enough or nothing more can go.
func (o *output) smaller(than size) size {
	o.flush()
	switch {
	case o.path == "" || o.size <= o.limit:
	case o.ofPassed > 0 && (o.size-o.ofPassed <= o.limit || o.overlong == 0):
		return withoutPassed
	case o.overlong > 0:
		return smallest
	}
	return than
}
