package shard

import (
	"fmt"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report/text"
)

const (
	maxBar     = 24 // columns
	minBar     = 6
	minBarLine = 60 // columns of a terminal that has room for bars
	underShard = "      "
)

// shardLine is what the summary says of a shard in one line, before its bar.
type shardLine struct{ head, state, said string }

func (l shardLine) columns() int { return text.Columns(l.head + l.state + l.said) }

// writeShards tells of each shard in a line, and below it why it did not pass.
func writeShards(p *sheet, res Result, o Options) {
	shared := sharedReason(res.Shards)
	lines := shardLines(res.withoutOwn())
	bars := barsOf(res.Shards, lines, p.width)
	for i, s := range res.Shards {
		writeShard(p, lines[i], s, bars[i])
		if shared == "" && s.Reason != "" {
			p.wrapped(underShard, s.Reason, text.None)
		}
		if s.State != Passed && s.Log != "" {
			p.path(underShard, o.display(res.ReportDir)+"/"+s.Log, text.Dim)
		}
		if o.Mode != Lines && s.State != Passed {
			writeTail(p, s.tail)
		}
	}
	if shared != "" {
		p.wrapped("", shared, text.None)
	}
}

func shardLines(shards []Shard) []shardLine {
	lines := make([]shardLine, len(shards))
	heads, states := 0, 9
	for i, s := range shards {
		lines[i].head = fmt.Sprintf("[%d/%d]", s.Number, s.Of)
		heads, states = max(heads, len(lines[i].head)), max(states, len(s.State))
	}
	for i, s := range shards {
		l := &lines[i]
		l.head = fmt.Sprintf("%-*s ", heads, l.head)
		l.state = fmt.Sprintf("%-*s ", states, s.State)
		l.said = outcome(s)
	}
	return lines
}

// writeShard breaks a line that is too long behind a comma.
func writeShard(p *sheet, l shardLine, s Shard, bar string) {
	start := l.head + p.paint(text.ColourOf(string(s.State)), strings.TrimRight(l.state, " ")) +
		l.state[len(strings.TrimRight(l.state, " ")):]
	used := len(l.head + l.state)
	if p.width == 0 || l.columns() <= p.width {
		p.line(start + l.said + p.paint(text.ColourOf(string(s.State)), bar))
		return
	}
	for i, part := range text.Wrap(l.said, p.room(used)) {
		if i > 0 {
			start = strings.Repeat(" ", used)
		}
		p.line(start + part)
	}
}

// barsOf draws the wall times beside each other, where there are several and room for them.
func barsOf(shards []Shard, lines []shardLine, width int) []string {
	bars := make([]string, len(shards))
	left, longest, ran := 0, time.Duration(0), 0
	for i, s := range shards {
		left = max(left, lines[i].columns())
		if !s.Started.IsZero() {
			longest, ran = max(longest, s.Wall), ran+1
		}
	}
	room := maxBar
	if width > 0 {
		room = min(maxBar, width-left-2)
	}
	if ran < 2 || longest == 0 || (width > 0 && width < minBarLine) || room < minBar {
		return bars
	}
	for i, s := range shards {
		if !s.Started.IsZero() {
			n := int((s.Wall*time.Duration(room) + longest - 1) / longest)
			bars[i] = strings.Repeat(" ", left+2-lines[i].columns()) + strings.Repeat("█", n)
		}
	}
	return bars
}

// writeTail shows the end of an output that was not shown as it came.
func writeTail(p *sheet, tail []string) {
	const mark = "  | "
	for _, line := range tail {
		line = oneLine(text.Cut(strings.TrimRight(line, "\r"), maxShownText))
		p.line(mark + text.Cut(line, p.room(len(mark))))
	}
}

// withoutOwn are the shards with their tests alone: what boxer puts into the report beside them is told as the reason.
func (r Result) withoutOwn() []Shard {
	all := append([]Shard(nil), r.Shards...)
	for _, e := range r.Report.ErrorCases {
		if i := indexOf(all, e.Shard); i >= 0 {
			all[i].Tests--
			all[i].Errors--
		}
	}
	return all
}

// sharedReason is what all shards have to say: a command that is not there is told once.
func sharedReason(shards []Shard) string {
	if len(shards) < 2 {
		return ""
	}
	for _, s := range shards {
		if s.Reason != shards[0].Reason {
			return ""
		}
	}
	return shards[0].Reason
}

// outcome is what a shard's tests did, or its exit code where no report tells.
func outcome(s Shard) string {
	var parts []string
	if s.Units > 0 {
		parts = append(parts, text.Plural(s.Units, "unit"))
	}
	switch {
	case s.Checked:
		parts = append(parts, text.Plural(s.Tests, "test"))
		if bad := s.Bad(); bad > 0 {
			parts = append(parts, text.Thousands(bad)+" failed")
		}
		if s.Skipped > 0 {
			parts = append(parts, text.Thousands(s.Skipped)+" skipped")
		}
		if s.Flaky > 0 {
			parts = append(parts, text.Thousands(s.Flaky)+" flaky")
		}
	case s.Signal != 0 && s.Reason == "":
		parts = append(parts, "ended by "+signalName(s.Signal))
	case s.Reason == "" && !s.Started.IsZero() && (s.State == Passed || s.State == Failed):
		parts = append(parts, fmt.Sprintf("exit code %d", s.Exit))
	}
	if !s.Started.IsZero() {
		parts = append(parts, text.Seconds(s.Wall))
	}
	return strings.Join(parts, ", ")
}
