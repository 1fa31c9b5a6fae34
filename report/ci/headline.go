package ci

import (
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
)

var headlines = map[int]string{
	4:   "no test ran",
	6:   "the ledger does not close: tests or reports are missing or doubled",
	124: "time limit",
	125: "boxer or the backend failed",
	126: "the command cannot be executed",
	127: "the command was not found",
	129: "ended by SIGHUP",
	130: "ended by SIGINT",
	143: "ended by SIGTERM",
}

// Headline is the verdict in one line.
func (r Run) Headline() string {
	words := r.counted()
	if said := headlines[r.ExitCode]; said != "" && strings.Contains(words, " passed") {
		return said
	} else if said != "" {
		return said + "; " + words
	}
	return words
}

// counted says what passed or failed: tests, where a report tells of them, or else shards.
func (r Run) counted() string {
	tests, failed, checked, bad := 0, 0, 0, 0
	for _, s := range r.Shards {
		if s.Checked {
			checked++
			tests, failed = tests+s.Totals.Tests, failed+s.Totals.Failures
		}
		if !s.Passed {
			bad++
		}
	}
	switch {
	case failed > 0:
		return fmt.Sprintf("%s of %s failed", text.Thousands(failed), text.Plural(tests, "test"))
	case len(r.Troubles) > 0:
		return r.troubled()
	case bad > 0:
		return fmt.Sprintf("%s of %s failed", text.Thousands(bad), text.Plural(len(r.Shards), "shard"))
	case checked == 0 || tests == 0:
		return text.Plural(len(r.Shards), "shard") + " passed"
	case checked < len(r.Shards):
		return fmt.Sprintf("%s passed, and %s without a report", text.Plural(tests, "test"), text.Plural(len(r.Shards)-checked, "shard"))
	}
	return text.Plural(tests, "test") + " passed"
}

func (r Run) troubled() string {
	t := r.Troubles[0]
	said := fmt.Sprintf("%s failed: %s", t.Name, text.Cut(t.Message, 300))
	if more := len(r.Troubles) - 1; more > 0 {
		said += fmt.Sprintf(" (and %s)", text.Plural(more, "more shard"))
	}
	return said
}
