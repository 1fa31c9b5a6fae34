package report

import (
	"strings"
	"time"
)

const timestampForm = "2006-01-02T15:04:05"

// timestamp keeps what the report says if the shard can have run then. A clock left behind by a restored snapshot, or
// a year 1, would sort the suite out of its run, so the shard's start stands in for it.
func timestamp(text string, started time.Time, wall time.Duration) string {
	t, ok := parseTimestamp(text)
	if started.IsZero() {
		if !ok || t.Year() <= 1970 {
			return ""
		}
		return t.UTC().Format(timestampForm)
	}
	if !ok || t.Before(started.Add(-time.Hour)) || t.After(started.Add(wall+time.Hour)) {
		t = started
	}
	return t.UTC().Format(timestampForm)
}

func parseTimestamp(text string) (time.Time, bool) {
	text = strings.Replace(strings.TrimSpace(text), " ", "T", 1)
	for _, form := range []string{time.RFC3339, timestampForm, timestampForm + "Z0700"} {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
