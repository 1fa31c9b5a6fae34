package report

// joinReruns takes bad cases that are followed by a passed one of the same identity as runs of that one (gotestsum
// --rerun-fails). It looks at one suite element of a command that ended with exit code 0, since only that vouches for
// them being one test: node and pytest give two results of one name to what are two.
func joinReruns(cases []record) []record {
	if !anyBad(cases) {
		return cases
	}
	open := map[key][]int{} // bad cases that nothing but bad ones followed
	gone := map[int]bool{}
	for i := range cases {
		c := &cases[i]
		k := c.identity("")
		if c.Status.Bad() {
			open[k] = append(open[k], i)
			continue
		}
		if before := open[k]; len(before) > 0 && c.Status != Skipped {
			c.addEarlier(cases, before)
			cases[before[0]] = *c
			for _, j := range append(before[1:], i) {
				gone[j] = true
			}
		}
		delete(open, k)
	}
	kept := cases[:0]
	for i, c := range cases {
		if !gone[i] {
			kept = append(kept, c)
		}
	}
	return kept
}

func (r *record) addEarlier(cases []record, before []int) {
	var runs []run
	for _, j := range before {
		runs = append(append(runs, cases[j].runs...), cases[j].asRun())
	}
	r.runs = append(runs, r.runs...)
	r.settle()
}

func anyBad(cases []record) bool {
	for i := range cases {
		if cases[i].Status.Bad() {
			return true
		}
	}
	return false
}
