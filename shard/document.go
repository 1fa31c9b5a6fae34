package shard

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

// resultSchema is the version of result.json. It rises when a key goes or means something else.
const resultSchema = 1

// document is result.json, and what boxer shard --json prints. Keys are interface: they are never renamed, new ones may
// come. Times are seconds; paths are relative to the report folder; arrays are never null.
type document struct {
	Schema   int         `json:"schema"` // 1
	ExitCode int         `json:"exit_code"`
	Node     nodeJSON    `json:"node"`
	Run      runJSON     `json:"run"`
	Count    int         `json:"count"` // shards of each node
	Rules    rulesJSON   `json:"rules"`
	Totals   totals      `json:"totals"`
	Ledger   ledgerJSON  `json:"ledger"`
	Nodes    []nodeOf    `json:"nodes"` // that a merge read; none for a run
	Shards   []shardJSON `json:"shards"`
	Failures []caseJSON  `json:"failures"`    // the first 1000
	Flaky    []caseJSON  `json:"flaky"`       // the first 1000
	Errors   []errorJSON `json:"error_cases"` // boxer's own: each is an error in junit.xml too
	Unread   []unreadOf  `json:"unread"`      // reports that could not be read whole
	Warnings []string    `json:"warnings"`
	Times    times       `json:"times"`
	Use      efficient   `json:"efficiency"`
	Bound    string      `json:"bound"` // what limits the run, in words
	Seed     uint32      `json:"seed"`
	Kept     []string    `json:"kept"`          // names of children that outlive the run
	Left     []string    `json:"not_removed"`   // names of children whose removal failed
	Report   string      `json:"report"`        // absolute folder of the results
	Page     string      `json:"html"`          // the page for people; "" if it could not be written
	Withheld []string    `json:"not_passed_in"` // names of variables that did not enter the sandbox
}

// nodeJSON is index 0 for a merge of all nodes, and 1 of 1 where there is one machine.
type nodeJSON struct {
	Index int `json:"index"`
	Total int `json:"total"`
}

type runJSON struct {
	ID      string `json:"id"`
	Attempt string `json:"attempt"`
}

type rulesJSON struct {
	Configured bool   `json:"junit_configured"`
	AllowEmpty string `json:"allow_empty"` // auto, yes or no
	Listed     bool   `json:"listed"`      // units of a list were dealt
	Plan       string `json:"plan"`        // the same on all nodes that dealt the same list in the same way
}

type nodeOf struct {
	Index    int     `json:"index"`
	Run      runJSON `json:"run"`
	ExitCode int     `json:"exit_code"`
	Count    int     `json:"count"`
	Seed     uint32  `json:"seed"`
	Folder   string  `json:"folder"`
}

type errorJSON struct {
	Shard    int    `json:"shard"` // 0 for a whole node
	Of       int    `json:"of"`
	Attempt  int    `json:"attempt"`
	Kind     string `json:"kind"`
	ExitCode int    `json:"exit_code"`
	Name     string `json:"name"`
	Message  string `json:"message"`
}

type unreadOf struct {
	Shard   int    `json:"shard"`
	Attempt int    `json:"attempt"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
}

type identityJSON struct {
	Tests  int    `json:"tests"`  // different ones
	Files  int    `json:"files"`  // that they name
	Digest string `json:"digest"` // the same for two shards that ran the same; "" for no test
}

type totals struct {
	Tests    int `json:"tests"`
	Passed   int `json:"passed"`
	Failures int `json:"failures"`
	Errors   int `json:"errors"`
	Skipped  int `json:"skipped"`
	Flaky    int `json:"flaky"` // of the passed ones
}

type ledgerJSON struct {
	Closed bool      `json:"closed"`
	Line   string    `json:"line"`
	Notes  []string  `json:"notes"`
	Units  unitsJSON `json:"units"` // of a list, by verdict
}

type unitsJSON struct {
	Listed   int `json:"listed"` // 0: the command split the tests by itself
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Flaky    int `json:"flaky"`
	Real     int `json:"real"` // failed in every retry
	NoResult int `json:"no_result"`
	NotRun   int `json:"not_run"`
}

// efficient is all zero for a run that was interrupted, and for a merge.
type efficient struct {
	Ratio   float64 `json:"ratio"` // of the children's time, what their commands took
	Span    float64 `json:"span_seconds"`
	Bound   float64 `json:"bound_seconds"` // no way to deal the same units to as many children is quicker; 0 without a list
	Best    int     `json:"best_count"`    // of children, by what was measured; 0 without a list
	Longest string  `json:"longest_unit"`
	Took    float64 `json:"longest_unit_seconds"`
	Share   float64 `json:"longest_unit_share"` // of the time of all units
	Known   int     `json:"units_with_times"`   // of the list, from earlier runs
}

type shardJSON struct {
	Number       int           `json:"number"`
	Of           int           `json:"of"`
	Node         int           `json:"node"`
	State        State         `json:"state"`
	Reason       string        `json:"reason"`
	Hint         string        `json:"hint"`
	ExitCode     int           `json:"exit_code"`
	Signal       string        `json:"signal"`
	Child        string        `json:"child"`
	Seed         uint32        `json:"seed"`
	ForkStarted  string        `json:"fork_started"` // RFC 3339, UTC; "" if there was no child
	Started      string        `json:"started"`      // the same of the command; "" if it never started
	Ended        string        `json:"ended"`
	Fork         float64       `json:"fork_seconds"`
	Wall         float64       `json:"wall_seconds"`
	Busy         float64       `json:"busy_seconds"` // of its commands, retries left out
	Idle         float64       `json:"idle_seconds"` // of the time from its start to the end of the last shard
	Units        int           `json:"units"`        // of a list, that it ran
	Batches      []batchJSON   `json:"batches"`      // its commands in order; none for a shard of one command without a list
	Totals       totals        `json:"totals"`
	Identity     identityJSON  `json:"identity"`
	Checked      bool          `json:"checked"` // false: no report, the exit code is all that is known
	Log          string        `json:"log"`
	Reports      []string      `json:"reports"`
	Artifacts    []string      `json:"artifacts"`
	NotCollected []skippedJSON `json:"not_collected"`
	Leftover     bool          `json:"leftover"`
}

type batchJSON struct {
	Number   int      `json:"number"`  // from 1; 0 without a list
	Attempt  int      `json:"attempt"` // from 1; later ones are retries
	Child    string   `json:"child"`
	Started  string   `json:"started"`
	Fork     float64  `json:"fork_seconds"` // 0: it ran in a child that was there
	Wall     float64  `json:"wall_seconds"`
	State    State    `json:"state"`
	ExitCode int      `json:"exit_code"`
	Units    []string `json:"units"`
	Redone   bool     `json:"redone"` // its units without a result ran again, each by itself
	Void     bool     `json:"void"`   // a retry that ran other tests, and so does not count
}

type skippedJSON struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type caseJSON struct {
	Shard     int     `json:"shard"`
	Suite     string  `json:"suite"`
	Classname string  `json:"classname"`
	Name      string  `json:"name"`
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Status    string  `json:"status"`
	Seconds   float64 `json:"seconds"`
	Message   string  `json:"message"`
}

type times struct {
	Started string  `json:"started"`
	Setup   float64 `json:"setup_seconds"`
	Fork    float64 `json:"fork_seconds"`
	Wall    float64 `json:"wall_seconds"`
}

// JSON is the result as one document: what result.json holds.
func (r Result) JSON() ([]byte, error) {
	d := document{
		Schema: resultSchema, ExitCode: r.ExitCode, Node: nodeJSON(r.Node), Run: runJSON(r.RunID), Count: r.Count,
		Rules: rulesJSON{r.Configured, cmp.Or(r.AllowEmpty, "auto"), r.Listed, r.Plan}, Nodes: nodesOf(r.Nodes),
		Errors: errorsOf(r.Report.ErrorCases), Unread: unreadIn(r.Report.Unread), Totals: totalsOf(r.Report.Totals), Shards: []shardJSON{},
		Ledger:   ledgerJSON{r.Ledger.Closed, r.Ledger.Line, some(r.Ledger.Notes), unitsJSON(r.Ledger.Units)},
		Failures: casesOf(r.Report.Failed), Flaky: casesOf(r.Report.FlakyCases), Warnings: some(r.Warnings),
		Times: times{stamp(r.Started), r.Setup.Seconds(), r.Fork.Seconds(), r.Wall.Seconds()},
		Use: efficient{
			r.Efficiency.Ratio, r.Efficiency.Span.Seconds(), r.Efficiency.Bound.Seconds(), r.Efficiency.Best,
			r.Efficiency.Longest, r.Efficiency.Took.Seconds(), r.Efficiency.Share, r.Efficiency.Known,
		},
		Bound: r.Bound, Seed: r.Seed, Kept: some(r.Kept), Left: some(r.NotRemoved), Report: r.ReportDir,
		Page: r.Page, Withheld: some(r.Withheld),
	}
	last := r.lastEnd()
	for _, s := range r.Shards {
		j := shardDocument(s)
		if !s.Started.IsZero() {
			j.Idle = last.Sub(s.Started.Add(s.worked())).Seconds()
		}
		d.Shards = append(d.Shards, j)
	}
	out, err := json.MarshalIndent(d, "", "  ")
	return append(out, '\n'), err
}

func shardDocument(s Shard) shardJSON {
	j := shardJSON{
		Number: s.Number, Of: s.Of, Node: s.Node, Identity: identityJSON(s.Identity), State: s.State, Reason: s.Reason, Hint: s.Hint, ExitCode: s.Exit, Child: s.Child,
		Seed: s.Seed, Started: stamp(s.Started), Fork: s.Fork.Seconds(), Wall: s.Wall.Seconds(), Busy: s.worked().Seconds(), Units: s.Units, Batches: batchesOf(s.Batches), Totals: totalsOf(s.Totals),
		Checked: s.Checked, Log: s.Log, Reports: some(s.Reports), Artifacts: some(s.Artifacts), Leftover: s.Leftover,
		NotCollected: skippedOf(s.NotCollected),
	}
	j.ForkStarted = stamp(s.ForkStarted)
	if !s.Started.IsZero() {
		j.Ended = stamp(s.Started.Add(s.Wall))
	}
	if s.Signal != 0 {
		j.Signal = signalName(s.Signal)
	}
	return j
}

func batchesOf(all []Batch) []batchJSON {
	out := []batchJSON{}
	for _, b := range all {
		out = append(out, batchJSON{
			b.Number, b.Attempt, b.Child, stamp(b.Started), b.Fork.Seconds(), b.Wall.Seconds(), b.State, b.Exit, some(b.Units), b.Redone, b.Void,
		})
	}
	return out
}

// lastEnd is when the last command ended.
func (r Result) lastEnd() time.Time {
	var last time.Time
	for _, s := range r.Shards {
		if end := s.done(); !s.Started.IsZero() && end.After(last) {
			last = end
		}
	}
	return last
}

func nodesOf(all []NodeResult) []nodeOf {
	out := []nodeOf{}
	for _, n := range all {
		out = append(out, nodeOf{n.Index, runJSON(n.RunID), n.ExitCode, n.Count, n.Seed, n.Folder})
	}
	return out
}

func errorsOf(all []report.ErrorCase) []errorJSON {
	out := []errorJSON{}
	for _, e := range all {
		out = append(out, errorJSON{e.Shard, e.Of, e.Attempt, string(e.Kind), e.Exit, e.Name, e.Message})
	}
	return out
}

func unreadIn(all []*report.ReadError) []unreadOf {
	out := []unreadOf{}
	for _, e := range all {
		out = append(out, unreadOf{e.Shard, e.Attempt, e.File, e.Line, string(e.Kind), e.Reason})
	}
	return out
}

func skippedOf(all []runner.Skipped) []skippedJSON {
	out := []skippedJSON{}
	for _, s := range all {
		out = append(out, skippedJSON(s))
	}
	return out
}

func casesOf(all []report.Case) []caseJSON {
	out := []caseJSON{}
	for _, c := range all {
		out = append(out, caseJSON{
			Shard: c.Shard, Suite: c.Suite, Classname: c.Classname, Name: c.Name, File: c.File, Line: c.Line,
			Status: string(c.Status), Seconds: c.Seconds, Message: c.Message,
		})
	}
	return out
}

func totalsOf(t report.Totals) totals {
	return totals{t.Tests, t.Passed, t.Failures, t.Errors, t.Skipped, t.Flaky}
}

// some makes an empty array of one that is missing.
func some(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
