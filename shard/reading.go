package shard

import (
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/units"
)

// reading is what the reports of one command say, read as soon as it has ended: the queue, the retries and the books
// need it before all are merged.
type reading struct {
	whole  bool            // there are reports, and all of them could be read
	tests  map[string]bool // every test, and whether it is bad
	units  map[string]*unitReading
	others []string // keys of listed units that the command was not given
	vague  bool     // a test can belong to any file
}

// unitReading is what a report says of one unit.
type unitReading struct {
	cases, bad int
	took       time.Duration
}

// read looks through the reports of an attempt. Without a list only the tests themselves are of interest.
func (r *run) read(a *attempt) {
	rd := &reading{tests: map[string]bool{}, units: map[string]*unitReading{}}
	a.reading = rd
	if len(a.collected.reports) == 0 || r.deal == nil && r.options.Retries == 0 {
		return
	}
	given := map[string]bool{}
	for _, j := range a.jobs {
		given[j.Unit.Key] = true
	}
	visit := func(c report.Case) {
		if c.Suite != "boxer" || c.Classname != "boxer" {
			rd.add(c, r.deal, given)
		}
	}
	o := report.Options{AllowEmpty: "yes", Reruns: r.options.Reruns, Visit: visit}
	rep, err := report.Merge([]report.Attempt{a.forReport(r.options)}, o, "")
	rd.whole = err == nil && len(rep.Unread) == 0 && len(rep.Shards) > 0 && rep.Shards[0].Checked
}

func (rd *reading) add(c report.Case, d *deal, given map[string]bool) {
	id := c.Suite + "\x00" + c.Classname + "\x00" + c.Name
	rd.tests[id] = rd.tests[id] || c.Status.Bad()
	if d == nil {
		return
	}
	key := d.unitOf(c)
	switch {
	case key == "":
		rd.vague = rd.vague || !namesFile(c) && !d.titled(c)
	case given[key]:
		u := rd.units[key]
		if u == nil {
			u = &unitReading{}
			rd.units[key] = u
		}
		u.cases++
		u.took += time.Duration(c.Seconds * float64(time.Second))
		if c.Status.Bad() {
			u.bad++
		}
	default:
		rd.others = append(rd.others, key)
	}
}

// unitOf finds the unit that a test belongs to, "" if its report does not say.
func (d *deal) unitOf(c report.Case) string {
	for _, file := range []string{c.File, c.SuiteFile} {
		if key := d.index.File(file); key != "" {
			return key
		}
	}
	if namesFile(c) {
		return "" // another file than those listed, whatever its class is called
	}
	for _, name := range []string{c.Classname, c.Suite} {
		if key := d.index.Class(name); key != "" {
			return key
		}
	}
	return ""
}

// namesFile says whether the report tells which file a test is from, listed or not.
func namesFile(c report.Case) bool { return units.Pathlike(c.File) || units.Pathlike(c.SuiteFile) }

// titled says whether a test's suite and class bear the name of a file, as Playwright's and vitest's do: then one of a
// set-up, which is not listed, leaves the rest of the report as telling as it was.
func (d *deal) titled(c report.Case) bool {
	return c.Classname == c.Suite && d.index.Alike(c.Classname)
}

// bad is how many tests failed.
func (rd *reading) bad() int {
	n := 0
	for _, bad := range rd.tests {
		if bad {
			n++
		}
	}
	return n
}

// telling says whether a unit that the reports do not name has left no result: all that they hold belongs to files.
func (rd *reading) telling() bool { return rd.whole && !rd.vague && len(rd.units) > 0 }

// open are the jobs that have no result.
func (rd *reading) open(jobs []plan.Job) []plan.Job {
	var open []plan.Job
	for _, j := range jobs {
		if !rd.whole || rd.units[j.Unit.Key] == nil {
			open = append(open, j)
		}
	}
	return open
}

// took is how long the units took by their reports, 0 if it is not known of all.
func (rd *reading) took(jobs []plan.Job) time.Duration {
	sum := time.Duration(0)
	for _, j := range jobs {
		u := rd.units[j.Unit.Key]
		if u == nil || !rd.whole {
			return 0
		}
		sum += u.took
	}
	return sum
}
