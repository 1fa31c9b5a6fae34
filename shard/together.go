package shard

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
)

// bySeverity are the states of an attempt, what matters most first.
var bySeverity = []State{Lost, TimedOut, Cancelled, NotFound, NotExecutable, Failed, Passed}

// shardOf makes one shard of its attempts.
func (r *run) shardOf(attempts []*attempt) Shard {
	a := decisive(attempts)
	s := Shard{
		Number: a.number, Of: a.total, Node: r.options.Node.Index, State: a.state, Reason: a.reason, Exit: a.exit.Code, Signal: a.exit.Signal,
		Child: a.child.Slug, Seed: seedOf(r.options.Seed, a.number),
	}
	for _, b := range attempts {
		r.addAttempt(&s, b)
	}
	if !s.Started.IsZero() {
		s.Log, s.tail = logOf(a.number), runner.LastLines(a.output.tail)
	}
	if r.deal == nil && len(attempts) == 1 {
		s.Batches = nil // it is the shard
	}
	return s
}

// lastGoes are the last attempts of each batch that count.
func lastGoes(attempts []*attempt) []*attempt {
	var last []*attempt
	for _, a := range attempts {
		if a.void || a.redo {
			continue
		}
		if i := slices.IndexFunc(last, func(l *attempt) bool { return l.batch == a.batch }); i >= 0 {
			last[i] = a
		} else {
			last = append(last, a)
		}
	}
	return last
}

// decisive is the attempt that says how the shard ended: of each batch its last go counts, and of these the worst.
func decisive(attempts []*attempt) *attempt {
	last := lastGoes(attempts)
	for _, state := range bySeverity {
		if i := slices.IndexFunc(last, func(a *attempt) bool { return a.state == state }); i >= 0 {
			return last[i]
		}
	}
	return attempts[len(attempts)-1]
}

func (r *run) addAttempt(s *Shard, a *attempt) {
	if s.ForkStarted.IsZero() {
		s.ForkStarted, s.Fork = a.forkBegun, a.forkTook
	}
	if !a.started.IsZero() {
		if s.Started.IsZero() {
			s.Started = a.started
		}
		end := a.started.Add(a.wall)
		s.Wall = max(s.Wall, end.Sub(s.Started))
		if a.try == 1 {
			s.Busy, s.Done = s.Busy+a.wall, end
		}
	}
	s.Leftover = s.Leftover || a.output.leftover
	for _, f := range a.collected.skipped {
		if !slices.Contains(s.NotCollected, f) {
			s.NotCollected = append(s.NotCollected, f)
		}
	}
	isReport := map[string]bool{}
	for _, f := range a.collected.reports {
		rel, _ := filepath.Rel(r.dir.path, f.Path)
		isReport[filepath.ToSlash(rel)] = true
		s.Reports = append(s.Reports, filepath.ToSlash(rel))
	}
	for _, f := range a.collected.files {
		if name := path.Join(a.folder(), f); !isReport[name] {
			s.Artifacts = append(s.Artifacts, name)
		}
	}
	b := Batch{
		Number: a.batch, Attempt: a.try, Child: a.child.Slug, ForkStarted: a.forkBegun, Fork: a.forkTook,
		Started: a.started, Wall: a.wall, State: a.state, Exit: a.exit.Code, Redone: a.redo, Void: a.void,
	}
	for _, j := range a.jobs {
		b.Units = append(b.Units, j.Unit.Key)
	}
	if a.try == 1 && !a.redo {
		s.Units += len(a.jobs)
	}
	s.Batches = append(s.Batches, b)
}

func warnings(s Shard, attempts []*attempt) []string {
	var all []string
	warn := func(format string, args ...any) {
		all = append(all, fmt.Sprintf("shard %d/%d: ", s.Number, s.Of)+fmt.Sprintf(format, args...))
	}
	for _, a := range attempts {
		if a.forkFault != nil && a.child.Slug != "" {
			warn("the first fork failed: %v", a.forkFault)
		}
	}
	for _, f := range s.NotCollected {
		warn("not collected: %s (%s)", f.Path, f.Reason)
	}
	if s.Leftover {
		warn("the command left a process behind that still held its output; boxer did not wait for it")
	}
	for _, a := range attempts {
		switch {
		case len(a.strays) > 0:
			warn("%s left %s behind (%s): the next units got a fresh child", a.named(), text.PluralAs(len(a.strays), "process", "processes"), strings.Join(a.strays, ", "))
		case a.redo:
			warn("%s (%s): those without a result ran again one by one", text.Plural(len(a.jobs), "unit"), why(a))
		}
	}
	return all
}

// why a batch did not come to its end.
func why(a *attempt) string {
	switch {
	case a.hung:
		return a.killed
	case a.state == Lost:
		return "their child ended"
	}
	return "their command was ended by " + signalName(a.exit.Signal)
}

// busy is how long the children worked, and how long it was from the first command's start to the last one's end.
// Retries are left out: they tell nothing of how the work was dealt.
func busy(shards []Shard) (worked, makespan time.Duration, ran int) {
	var first, last time.Time
	for _, s := range shards {
		if s.Started.IsZero() {
			continue
		}
		if end := s.done(); end.After(last) {
			last = end
		}
		if ran == 0 || s.Started.Before(first) {
			first = s.Started
		}
		worked, ran = worked+s.worked(), ran+1
	}
	return worked, last.Sub(first), ran
}

// done is when the shard had done its work, but for retries.
func (s Shard) done() time.Time {
	if s.Done.IsZero() {
		return s.Started.Add(s.Wall)
	}
	return s.Done
}

// worked is how long the shard's commands took. A shard of one command has no more to say than its wall time.
func (s Shard) worked() time.Duration {
	if s.Busy > 0 {
		return s.Busy
	}
	return s.Wall
}
