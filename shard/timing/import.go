package timing

import (
	"strings"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

// Result is one test case of a report.
type Result struct {
	units.Mention
	Seconds float64 // anything; a case whose time makes no sense is left out
}

// Import sums the cases of reports by unit. Parts of one file that two shards ran are summed. Cases of no unit are left
// out, and so is everything where no case has a time.
func Import(results []Result, known *units.Index) map[string]time.Duration {
	all := make(map[units.Mention]bool, len(results))
	for _, r := range results {
		all[r.Mention] = true
	}
	sums := map[string]time.Duration{}
	timed := false
	for _, r := range results {
		key := known.Unit(r.Mention)
		if key == "" || !sane(r.Seconds) || inParent(all, r.Mention) {
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
func inParent(all map[units.Mention]bool, m units.Mention) bool {
	name := m.Name
	for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name[:at], '/') {
		m.Name = name[:at]
		if all[m] {
			return true
		}
	}
	return false
}
