package report

import "strings"

// record is a case with all that is written of it.
type record struct {
	Case
	line, assertions string // as the report has them
	props            []property
	runs             []run // earlier ones that were bad
	own              bool  // an error case of boxer's own
	out, err         string
	attached         []string // collected files that it mentions, those of earlier runs included
}

type property struct{ name, value string }

// run is an earlier go of a case. It adds no count.
type run struct {
	kind               Status // Failed or Errored
	message, typ, body string
	seconds            string
	out, err           string
}

// suite is one flat suite of a report.
type suite struct {
	name, own        string // own is the last part of the name, of a nested suite
	parent           *suite
	hostname, file   string
	timestamp, time  string // as the report has them
	nested           bool   // it had suites inside, so its time counts theirs too
	props            []property
	cases            []record
	out, err         string
	outClip, errClip clip // what of them is read so far
	attempt          *attempt
	synthetic        bool // made by boxer, so it says nothing about which tests ran

	// A big suite is written in parts, each a suite for itself: all but the first have begun, all but the last have more
	// to come.
	begun, more bool
	size        int // of what was read and not written yet, in bytes
}

// asRun is what stays of a bad case when another run of it takes its place.
func (r *record) asRun() run {
	return run{
		kind: r.Status, message: r.Message, typ: r.Type, body: strings.TrimSpace(r.Body),
		seconds: formatSeconds(r.Seconds), out: r.out, err: r.err,
	}
}

// settle makes a passed case flaky if an earlier run of it was bad.
func (r *record) settle() {
	if r.Status == Passed && len(r.runs) > 0 {
		r.Status = Flaky
	}
}
