package shard

import (
	"strings"

	"github.com/boxer-ci/boxer/report"
)

// masker gives what takes the secrets out of a text, nil where there are none. The longest come first, so that one
// that contains another goes whole.
func (o Options) masker() func(string) string {
	var pairs []string
	for _, s := range longestFirst(o.Secrets) {
		pairs = append(pairs, s, mask)
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...).Replace
}

// masked is the result without secrets: what a test can put into a name, a message or a path must not come out again
// by way of a summary. Whatever tells of a run is made from this.
func (r Result) masked(hide func(string) string) Result {
	if hide == nil {
		return r
	}
	all := func(texts []string) []string {
		out := append([]string(nil), texts...)
		for i := range out {
			out[i] = hide(out[i])
		}
		return out
	}
	r.Warnings, r.Ledger.Line, r.Ledger.Notes = all(r.Warnings), hide(r.Ledger.Line), all(r.Ledger.Notes)
	r.Report.Warnings = all(r.Report.Warnings)
	r.Report.Failed, r.Report.FlakyCases = maskedCases(r.Report.Failed, hide), maskedCases(r.Report.FlakyCases, hide)
	r.Report.ErrorCases = append([]report.ErrorCase(nil), r.Report.ErrorCases...)
	for i := range r.Report.ErrorCases {
		e := &r.Report.ErrorCases[i]
		e.Message, e.Body = hide(e.Message), hide(e.Body)
	}
	r.Shards = append([]Shard(nil), r.Shards...)
	for i := range r.Shards {
		s := &r.Shards[i]
		s.Reason, s.Hint, s.tail = hide(s.Reason), hide(s.Hint), all(s.tail)
		s.Reports, s.Artifacts = all(s.Reports), all(s.Artifacts)
		s.NotCollected = append(s.NotCollected[:0:0], s.NotCollected...)
		for j := range s.NotCollected {
			s.NotCollected[j].Path, s.NotCollected[j].Reason = hide(s.NotCollected[j].Path), hide(s.NotCollected[j].Reason)
		}
	}
	return r
}

func maskedCases(cases []report.Case, hide func(string) string) []report.Case {
	out := append([]report.Case(nil), cases...)
	for i := range out {
		c := &out[i]
		for _, t := range []*string{&c.Suite, &c.Classname, &c.Name, &c.File, &c.Message, &c.Type, &c.Body} {
			*t = hide(*t)
		}
	}
	return out
}
