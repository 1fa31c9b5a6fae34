package shard

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
)

// join lays the results of the nodes side by side.
func (m *nodeMerge) join() {
	r := &m.result
	first := m.set.nodes[0].doc
	r.Node, r.RunID, r.Count = Node{0, first.Node.Total}, RunID{ID: first.Run.ID}, first.Count
	r.Configured, r.AllowEmpty = first.Rules.Configured, first.Rules.AllowEmpty
	r.Listed, r.Plan = first.Rules.Listed, first.Rules.Plan
	r.Warnings = append(r.Warnings, m.set.said...)
	for i, f := range m.set.nodes {
		d := f.doc
		r.Nodes = append(r.Nodes, NodeResult{d.Node.Index, RunID(d.Run), d.ExitCode, d.Count, d.Seed, m.folders[i]})
		for _, s := range d.Shards {
			r.Shards = append(r.Shards, s.shard(d.Node.Index, m.folders[i]))
		}
		for _, e := range d.Errors {
			r.Report.ErrorCases = append(r.Report.ErrorCases, report.ErrorCase{
				Shard: e.Shard, Of: e.Of, Attempt: e.Attempt, Kind: report.Kind(e.Kind), Exit: e.ExitCode, Name: e.Name, Message: e.Message,
			})
		}
		for _, u := range d.Unread {
			r.Report.Unread = append(r.Report.Unread, &report.ReadError{
				Shard: u.Shard, Attempt: u.Attempt, File: u.File, Line: u.Line, Kind: report.Kind(u.Kind), Reason: u.Reason,
			})
		}
		r.Warnings = append(r.Warnings, d.Warnings...)
		r.NotRemoved = append(r.NotRemoved, d.Left...)
		r.Configured = r.Configured && d.Rules.Configured
		r.times(d.Times)
	}
	m.excuse()
}

// times are those of the node that took longest: the nodes ran side by side, but not on one clock.
func (r *Result) times(t times) {
	if at, err := time.Parse(time.RFC3339, t.Started); err == nil && (r.Started.IsZero() || at.Before(r.Started)) {
		r.Started = at
	}
	r.Setup = max(r.Setup, duration(t.Setup))
	r.Fork = max(r.Fork, duration(t.Fork))
	r.Wall = max(r.Wall, duration(t.Wall))
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// shard is the shard of a node's document again, its files seen from the merged report.
func (j shardJSON) shard(node int, folder string) Shard {
	in := func(paths []string) []string {
		var all []string
		for _, p := range paths {
			all = append(all, path.Join(folder, p))
		}
		return all
	}
	s := Shard{
		Number: j.Number, Of: j.Of, Node: node, State: j.State, Reason: j.Reason, Hint: j.Hint, Exit: j.ExitCode,
		Signal: signalOfName(j.Signal), Child: j.Child, Seed: j.Seed, Fork: duration(j.Fork), Wall: duration(j.Wall), Units: j.Units,
		Totals: report.Totals{
			Tests: j.Totals.Tests, Passed: j.Totals.Passed, Failures: j.Totals.Failures, Errors: j.Totals.Errors,
			Skipped: j.Totals.Skipped, Flaky: j.Totals.Flaky,
		},
		Identity: Identity(j.Identity), Checked: j.Checked, Reports: in(j.Reports), Artifacts: in(j.Artifacts), Leftover: j.Leftover,
	}
	if j.Log != "" {
		s.Log = path.Join(folder, j.Log)
	}
	s.Started, _ = time.Parse(time.RFC3339, j.Started)
	s.ForkStarted, _ = time.Parse(time.RFC3339, j.ForkStarted)
	for _, b := range j.Batches {
		s.Busy = duration(j.Busy)
		s.Batches = append(s.Batches, b.batch())
	}
	for _, skipped := range j.NotCollected {
		s.NotCollected = append(s.NotCollected, runner.Skipped(skipped))
	}
	return s
}

func (j batchJSON) batch() Batch {
	b := Batch{
		Number: j.Number, Attempt: j.Attempt, Child: j.Child, Fork: duration(j.Fork), Wall: duration(j.Wall), State: j.State,
		Exit: j.ExitCode, Units: j.Units, Redone: j.Redone, Void: j.Void,
	}
	b.Started, _ = time.Parse(time.RFC3339, j.Started)
	return b
}

func signalOfName(name string) syscall.Signal {
	for i := range signalNames {
		if name != "" && signalNames[i] == name {
			return syscall.Signal(i)
		}
	}
	var n int
	fmt.Sscanf(name, "signal %d", &n)
	return syscall.Signal(n)
}

// excuse takes back what a node could only say for itself: that no test ran on it, where tests ran on others. A
// command that splits by itself may leave a whole node without any.
func (m *nodeMerge) excuse() {
	r := &m.result
	own := map[int]int{}
	for _, e := range r.Report.ErrorCases {
		own[e.Shard]++
	}
	if !slices.ContainsFunc(r.Shards, func(s Shard) bool { return s.Checked && s.Tests > own[s.Number] }) {
		return
	}
	r.Report.ErrorCases = slices.DeleteFunc(r.Report.ErrorCases, func(e report.ErrorCase) bool {
		i := indexOf(r.Shards, e.Shard)
		if i < 0 || e.Kind != report.NoTests || e.Exit != 0 || m.rulesOf(r.Shards[i].Node).AllowEmpty != "auto" {
			return false
		}
		s := &r.Shards[i]
		s.Tests--
		s.Errors--
		s.State, s.Reason = Passed, ""
		m.allowed = append(m.allowed, s.Number)
		return true
	})
}

// excused says which cases of the nodes' reports fall away with that.
func (m *nodeMerge) excused(c report.Case) bool {
	return c.Suite == report.OwnSuite && c.Type == "boxer."+string(report.NoTests) && slices.Contains(m.allowed, c.Shard)
}

func (m *nodeMerge) rulesOf(node int) rulesJSON {
	if i := m.nodeAt(node); i >= 0 {
		return m.set.nodes[i].doc.Rules
	}
	return rulesJSON{}
}

// judge adds what the merged report shows, and checks the ledger over all nodes.
func (m *nodeMerge) judge(rep report.Result) {
	r := &m.result
	type place struct {
		shard   int
		message string
	}
	own := map[place]bool{}
	for _, e := range r.Report.ErrorCases {
		own[place{e.Shard, e.Message}] = true
	}
	r.Report.Totals, r.Report.FlakyCases = rep.Totals, rep.FlakyCases
	r.Report.Slowest, r.Report.Roll, r.Report.Files = rep.Slowest, rep.Roll, rep.Files
	for _, c := range rep.Failed {
		if c.Suite != report.OwnSuite || !own[place{c.Shard, c.Message}] {
			r.Report.Failed = append(r.Report.Failed, c)
		}
	}
	r.Report.ErrorCases = append(r.Report.ErrorCases, rep.ErrorCases...)
	r.Report.Incomplete = len(rep.ErrorCases) > 0
	r.Report.Empty = rep.Tests == len(r.Report.ErrorCases)
	r.Warnings = append(r.Warnings, rep.Warnings...)
	var notes []string
	for _, f := range m.set.nodes {
		for _, n := range f.doc.Ledger.Notes {
			notes = append(notes, fmt.Sprintf("node %d: %s", f.doc.Node.Index, n))
		}
	}
	r.Ledger = balanceNodes(r.Shards, r.Report, r.Configured, m.set.missing, notes)
	if slices.ContainsFunc(m.set.nodes, func(f nodeFolder) bool { return f.doc.Rules.Listed }) {
		m.balanceListed()
	}
}

// balanceListed adds what the nodes' own books say of their units. Together they have dealt each unit once only if all
// of them made the same plan.
func (m *nodeMerge) balanceListed() {
	l := &m.result.Ledger
	var parts []string
	for _, f := range m.set.nodes {
		u := f.doc.Ledger.Units
		l.Units.add(Units(u))
		if f.doc.Rules.Plan != m.result.Plan {
			l.Closed = false
			parts = append(parts, fmt.Sprintf("node %d dealt another list than node %d, or by other timings", f.doc.Node.Index, m.set.nodes[0].doc.Node.Index))
		}
		if !f.doc.Ledger.Closed {
			l.Closed = false
			parts = append(parts, fmt.Sprintf("node %d: %s", f.doc.Node.Index, f.doc.Ledger.Line))
		}
	}
	head, rest, _ := strings.Cut(l.Line, " · ")
	l.Line = strings.Join(append([]string{head, text.Plural(l.Units.Listed, "unit"), rest}, parts...), " · ")
}

// exitCode is that of a run that had all the shards. A node that failed for a reason of its own never becomes a 0.
func (m *nodeMerge) exitCode() int {
	r := &m.result
	f := facts{broken: m.broken, open: !r.Ledger.Closed}
	for _, s := range r.Shards {
		f.states = append(f.states, s.State)
	}
	if f.noTests = noTests(*r, r.AllowEmpty); f.noTests {
		f.states = nil
	} else {
		f.failed = r.Report.Bad() > 0
	}
	code := exitCode(f)
	for _, n := range r.Nodes {
		if n.ExitCode == 0 || code != 0 || (n.ExitCode == exitNoTests && m.emptyNode(n.Index)) {
			continue
		}
		code = exitBroken
		r.Warnings = append(r.Warnings, fmt.Sprintf("node %d ended with exit code %d, which none of its shards explains", n.Index, n.ExitCode))
	}
	return code
}

// emptyNode says that the node had no test, and was excused for that.
func (m *nodeMerge) emptyNode(node int) bool {
	return slices.ContainsFunc(m.result.Shards, func(s Shard) bool { return s.Node == node && slices.Contains(m.allowed, s.Number) })
}
