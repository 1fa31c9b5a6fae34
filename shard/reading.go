package shard

import (
	"slices"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/timing"
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
	var cases []timing.Result
	visit := func(c report.Case) {
		if c.Suite == report.OwnSuite && c.Classname == report.OwnSuite {
			return
		}
		m := mention(c)
		rd.add(c, m, r.deal, given)
		if r.deal != nil {
			cases = append(cases, timing.Result{Mention: m, Seconds: c.Seconds})
		}
	}
	o := report.Options{AllowEmpty: "yes", Reruns: r.options.Reruns, Visit: visit}
	rep, err := report.Merge([]report.Attempt{a.forReport(r.options)}, o, "")
	rd.whole = err == nil && len(rep.Unread) == 0 && len(rep.Shards) > 0 && rep.Shards[0].Checked
	if r.deal != nil {
		for key, took := range timing.Import(cases, r.deal.index) {
			if u := rd.units[key]; u != nil {
				u.took = took
			}
		}
	}
}

func mention(c report.Case) units.Mention {
	return units.Mention{File: c.File, SuiteFile: c.SuiteFile, Class: c.Classname, Suite: c.Suite, Name: c.Name}
}

func (rd *reading) add(c report.Case, m units.Mention, d *deal, given map[string]bool) {
	id := c.Suite + "\x00" + c.Classname + "\x00" + c.Name
	rd.tests[id] = rd.tests[id] || c.Status.Bad()
	if d == nil {
		return
	}
	key := d.index.Unit(m)
	switch {
	case key == "":
		rd.vague = rd.vague || !d.index.NamesFile(m)
	case given[key]:
		u := rd.units[key]
		if u == nil {
			u = &unitReading{}
			rd.units[key] = u
		}
		u.cases++
		if c.Status.Bad() {
			u.bad++
		}
	default:
		rd.others = append(rd.others, key)
	}
}

// excuse takes a command that says by its exit code that it found no test, and whose report holds none, for what it is:
// a batch with nothing to do in it has not failed.
func (a *attempt) excuse(codes []int) {
	if a.state == Failed && a.reading.whole && len(a.reading.tests) == 0 && slices.Contains(codes, a.exit.Code) {
		a.state = Passed
	}
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
