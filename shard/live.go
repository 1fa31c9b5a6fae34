package shard

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const refresh = 100 * time.Millisecond

// liveScreen shows one line per shard and rewrites them in place: what the shard is doing, for how long, and the last
// line it wrote.
type liveScreen struct {
	*lineScreen
	width   int
	first   int // number of the first shard
	shards  []liveShard
	drawn   int // lines that stand on the screen
	stop    chan struct{}
	stopped chan struct{}
}

type liveShard struct {
	state   string
	since   time.Time
	took    time.Duration // once it has ended
	message string
}

func newLiveScreen(o Options, base *lineScreen) *liveScreen {
	return &liveScreen{
		lineScreen: base, width: o.Width, first: o.number(0), shards: make([]liveShard, o.Count),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

func (s *liveScreen) open() {
	s.lineScreen.open()
	go s.keepDrawing()
}

func (s *liveScreen) keepDrawing() {
	defer close(s.stopped)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.update(func() []byte { return s.draw(time.Now()) })
		case <-s.stop:
			return
		}
	}
}

func (s *liveScreen) prefix(int) string { return "" }

func (s *liveScreen) output(shard int, block []byte) {
	last := bytes.TrimRight(block, "\n")
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	if len(last) > 0 {
		s.update(func() []byte { s.shards[shard-s.first].message = string(last); return nil })
	}
}

func (s *liveScreen) state(shard int, state string) {
	s.update(func() []byte {
		l := &s.shards[shard-s.first]
		now := time.Now()
		l.took = now.Sub(l.since)
		l.state, l.since = state, now
		return nil
	})
}

// note stands above the lines of the shards.
func (s *liveScreen) note(text string) {
	s.update(func() []byte {
		out := append(s.erase(), "boxer: "+harmless(text)+"\n"...)
		return append(out, s.draw(time.Now())...)
	})
}

func (s *liveScreen) close(summary func(io.Writer)) {
	close(s.stop)
	<-s.stopped
	s.update(s.erase)
	s.lineScreen.close(summary)
}

// update changes what is shown and writes what follows from it, under the one lock.
func (s *liveScreen) update(change func() []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := change(); len(b) > 0 {
		if _, err := s.w.Write(b); err != nil && s.failed == nil {
			s.failed = fmt.Errorf("print the status: %w", err)
		}
	}
}

// erase goes back to where the first line of the shards stands and clears all below.
func (s *liveScreen) erase() []byte {
	if s.drawn == 0 {
		return nil
	}
	out := fmt.Appendf(nil, "\x1b[%dA\r\x1b[J", s.drawn)
	s.drawn = 0
	return out
}

func (s *liveScreen) draw(now time.Time) []byte {
	out := s.erase()
	for i := range s.shards {
		out = append(out, s.line(i, now)+"\n"...)
	}
	s.drawn = len(s.shards)
	return out
}

// line is cut to the width: a line that wraps would stand on two, and the next erase would miss one.
func (s *liveScreen) line(i int, now time.Time) string {
	l := s.shards[i]
	took := now.Sub(l.since)
	switch l.state {
	case "":
		return fmt.Sprintf("[%d/%d] waiting", s.first+i, s.total)
	case "forking", "running":
	default:
		took = l.took
	}
	line := fmt.Sprintf("[%d/%d] %s %s", s.first+i, s.total, l.state, seconds(took))
	if message := uncoloured(l.message); message != "" && l.state == "running" {
		line += "  " + message
	}
	return cut(line, s.width-1)
}

func uncoloured(line string) string {
	for strings.Contains(line, "\x1b") {
		i := strings.Index(line, "\x1b")
		line = line[:i] + line[i+max(1, len(colour.FindString(line[i:]))):]
	}
	return strings.ReplaceAll(line, "\t", " ")
}

// cut shortens a text to that many characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}
