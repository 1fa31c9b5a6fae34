package report

// roll names the cases in their order, as many as are worth reading: the merged report has them all.
type roll struct {
	cases []Case
	bytes int // of their names
}

func (r *roll) add(c *Case) {
	size := len(c.Suite) + len(c.Classname) + len(c.Name) + len(c.File)
	if len(r.cases) == maxRoll || r.bytes+size > maxRollNames {
		return
	}
	r.bytes += size
	r.cases = append(r.cases, named(c))
}
