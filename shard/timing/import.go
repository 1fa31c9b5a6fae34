package timing

import (
	"strings"
	"time"
)

// Result is one test case of a report.
type Result struct {
	File, Class, Suite, Name string  // "" where the report names none
	Seconds                  float64 // anything; a case whose time makes no sense is left out
}

// Import sums the cases of reports by unit; known are the keys of the units that there are. A case belongs to the unit
// of its file, else to the one that its class or suite names: as a path, as an import path, or as a class whose
// source is the unit. Parts of one file that two shards ran are summed. Cases of no unit are left out, and so is
// everything where no case has a time.
func Import(results []Result, known []string) map[string]time.Duration {
	ix := newIndex(known)
	all := make(map[Result]bool, len(results))
	for _, r := range results {
		r.Seconds = 0
		all[r] = true
	}
	sums := map[string]time.Duration{}
	timed := false
	for _, r := range results {
		key, ok := ix.unitOf(r)
		if !ok || !sane(r.Seconds) || inParent(all, r) {
			continue
		}
		sums[key] = min(sums[key]+seconds(r.Seconds), longest)
		timed = timed || sums[key] > 0
	}
	if !timed {
		return map[string]time.Duration{}
	}
	return sums
}

// inParent says whether a case is a subtest, as Go's are, of another, whose time then has its own in it.
func inParent(all map[Result]bool, r Result) bool {
	name := r.Name
	for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name[:at], '/') {
		if all[Result{File: r.File, Class: r.Class, Suite: r.Suite, Name: name[:at]}] {
			return true
		}
	}
	return false
}
