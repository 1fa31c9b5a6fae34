package shard

import (
	"errors"
	"fmt"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/shard/ledger"
	"github.com/boxer-ci/boxer/shard/timing"
	"github.com/boxer-ci/boxer/shard/units"
)

const timingsFile = "timings.json"

// timings are what is known from earlier runs. What cannot be read makes the plan worse, and nothing else.
func (o Options) timings() (*timing.Book, []string) {
	var warnings []string
	book, err := timing.Load(o.Timings)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	return book, warnings
}

// imported adds the times of older reports for units that the book does not know.
func (o Options) imported(book *timing.Book, list []units.Unit) (warnings []string) {
	if len(o.TimingsFrom) == 0 {
		return nil
	}
	unknown, keys := []units.Unit{}, []string{}
	known := book.Expect(list).Known
	for _, u := range list {
		if !known[u.Key] {
			unknown, keys = append(unknown, u), append(keys, u.Key)
		}
	}
	var cases []timing.Result
	in := report.Attempt{Shard: 1, Of: 1, Attempt: 1, Merged: true, Reports: o.TimingsFrom}
	rep, err := report.Merge([]report.Attempt{in}, report.Options{AllowEmpty: "yes", Visit: func(c report.Case) {
		file := c.File
		if file == "" {
			file = c.SuiteFile
		}
		cases = append(cases, timing.Result{File: file, Class: c.Classname, Suite: c.Suite, Name: c.Name, Seconds: c.Seconds})
	}}, "")
	for _, e := range rep.Unread {
		err = errors.Join(err, e)
	}
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("the times of earlier reports are not all known: %v", err))
	}
	book.Update(timing.Import(cases, keys))
	return warnings
}

// measured is how long each unit took in this run, where that is known: by its report, or by its command if it passed.
func (r *run) measured() map[string]time.Duration {
	took := map[string]time.Duration{}
	for _, e := range r.deal.book.Entries() {
		for _, g := range e.Goes {
			if g.Took > 0 && (g.Report && g.Outcome != ledger.Interrupted || g.Outcome == ledger.Passed) {
				took[e.Unit.Key] = g.Took
			}
		}
	}
	return took
}

// saveTimings adds the run's times to the file. That it cannot be written is no fault of the tests.
func (r *run) saveTimings(res *Result) {
	took := r.measured()
	if len(took) == 0 {
		return
	}
	if book, err := timing.Load(r.options.Timings); err == nil {
		if w := book.Drift(took); w != "" {
			res.Warnings = append(res.Warnings, w)
		}
	}
	if err := timing.Save(r.options.Timings, took, time.Now()); err != nil {
		res.Warnings = append(res.Warnings, err.Error())
	}
}
