package shard

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
)

// What can be wrong between nodes.
const (
	nodeMissing     runner.Cause = "NODE_MISSING"
	nodeTwice       runner.Cause = "NODE_TWICE"
	differentRuns   runner.Cause = "DIFFERENT_RUNS"
	differentTotals runner.Cause = "DIFFERENT_TOTALS"
	differentCounts runner.Cause = "DIFFERENT_COUNTS"
)

// nodeSet is what counts of the folders that were found.
type nodeSet struct {
	nodes   []nodeFolder // by number, each once
	missing []int
	said    []string // what was decided, for people
	faults  []error  // for which nothing can be merged
}

// choose takes the last attempt of each node, and looks whether all nodes are of one run and dealt the shards alike.
func choose(found []nodeFolder) nodeSet {
	var set nodeSet
	byIndex := map[int][]nodeFolder{}
	for _, f := range found {
		byIndex[f.doc.Node.Index] = append(byIndex[f.doc.Node.Index], f)
	}
	for _, index := range slices.Sorted(maps.Keys(byIndex)) {
		set.nodes = append(set.nodes, set.last(byIndex[index]))
	}
	differ := set.differ(differentRuns, "are of different runs", func(f nodeFolder) string { return cmp.Or(f.doc.Run.ID, "no CI system") })
	differ = set.differ(differentTotals, "do not share the shards alike: they say different numbers of nodes",
		func(f nodeFolder) string { return strconv.Itoa(f.doc.Node.Total) + " nodes" }) || differ
	set.differ(differentCounts, "do not share the shards alike: they had different counts, so tests ran twice or never",
		func(f nodeFolder) string { return "count " + strconv.Itoa(f.doc.Count) })
	if !differ {
		set.sayStarts()
	}
	if len(set.nodes) > 0 && !differ {
		for i := range set.nodes[0].doc.Node.Total {
			if byIndex[i+1] == nil {
				set.missing = append(set.missing, i+1)
			}
		}
	}
	return set
}

// sayStarts tells when the nodes ran where no CI system says that they are of one run: a folder that an earlier run left
// looks just like one of this run.
func (set *nodeSet) sayStarts() {
	var starts []string
	for _, f := range set.nodes {
		if f.doc.Run.ID == "" {
			starts = append(starts, fmt.Sprintf("%s started %s (%s)", f, cmp.Or(f.doc.Times.Started, "at an unknown time"), f.show))
		}
	}
	if len(starts) > 1 {
		set.said = append(set.said, "no CI system says that these are of one run: "+strings.Join(starts, ", "))
	}
}

// last is the attempt of a node that counts.
func (set *nodeSet) last(all []nodeFolder) nodeFolder {
	best := all[0]
	for _, f := range all[1:] {
		if bytes.Equal(best.raw, f.raw) {
			set.said = append(set.said, fmt.Sprintf("%s and %s hold the same result of %s: it counts once", best.show, f.show, f))
			continue
		}
		later := 0
		if best.doc.Run.ID == f.doc.Run.ID && f.doc.Run.ID != "" {
			later = compareAttempts(f.doc, best.doc)
		}
		switch {
		case later == 0:
			set.faults = append(set.faults, fault(nodeTwice, "boxer merge "+f.show+" ...",
				"node %d is there twice, and nothing says that one is a later attempt of the other: %s and %s", f.doc.Node.Index, best.of(), f.of()))
			continue
		case later > 0:
			best, f = f, best
		}
		set.said = append(set.said, fmt.Sprintf("%s: %s counts, the earlier %s does not", best, best.of(), f.of()))
	}
	return best
}

// compareAttempts tells which of two runs of one node is the later one. Systems that count attempts are believed; with
// those that do not, the time of the start decides.
func compareAttempts(a, b document) int {
	m, err1 := strconv.Atoi(a.Run.Attempt)
	n, err2 := strconv.Atoi(b.Run.Attempt)
	if err1 == nil && err2 == nil {
		return cmp.Compare(m, n)
	}
	return strings.Compare(a.Times.Started, b.Times.Started) // all in one form, in UTC
}

// differ adds a fault if the nodes do not agree, which names each.
func (set *nodeSet) differ(cause runner.Cause, what string, of func(nodeFolder) string) bool {
	groups := map[string][]nodeFolder{}
	for _, f := range set.nodes {
		groups[of(f)] = append(groups[of(f)], f)
	}
	if len(groups) < 2 {
		return false
	}
	var most, lines []string
	for _, value := range slices.Sorted(maps.Keys(groups)) {
		var names, shows []string
		for _, f := range groups[value] {
			names = append(names, fmt.Sprintf("%s (%s)", f, f.show))
			shows = append(shows, f.show)
		}
		lines = append(lines, value+": "+strings.Join(names, ", "))
		if len(shows) > len(most) {
			most = shows
		}
	}
	fix := "boxer merge " + strings.Join(most, " ")
	if cause == differentCounts {
		fix = set.nodes[0].rerunFix()
	}
	set.faults = append(set.faults, &runner.Error{Reason: "these nodes " + what, Cause: cause, Fix: fix, Output: lines})
	return true
}

// missingFault names the nodes that are not there, and how to run the first of them.
func (set *nodeSet) missingFault() error {
	first := set.nodes[0].doc
	verb := " is missing"
	if len(set.missing) > 1 {
		verb = " are missing"
	}
	return fault(nodeMissing, rerunFix(first.Count, set.missing[0], first.Node.Total),
		"%s of %d%s: what ran there is not in the merged report", text.ListOf("node", set.missing), first.Node.Total, verb)
}
