package shard

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
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
	data    sync.Mutex // of shards: never held during a write, so that a stopped terminal stops no shard
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
			s.write(s.draw(time.Now()))
		case <-s.stop:
			return
		}
	}
}

func (s *liveScreen) prefix(int) string { return "" }

func (s *liveScreen) output(shard int, block []byte) {
	last := bytes.TrimRight(block, "\n")
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	if len(last) == 0 {
		return
	}
	s.data.Lock()
	defer s.data.Unlock()
	s.shards[shard-s.first].message = string(last)
}

func (s *liveScreen) state(shard int, state string) {
	s.data.Lock()
	defer s.data.Unlock()
	l := &s.shards[shard-s.first]
	now := time.Now()
	l.took = now.Sub(l.since)
	l.state, l.since = state, now
}

func (s *liveScreen) close(summary func(io.Writer)) {
	close(s.stop)
	<-s.stopped
	s.write(s.erase())
	s.lineScreen.close(summary)
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
	s.data.Lock()
	defer s.data.Unlock()
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

// cut shortens a text to that many columns. Beyond the European scripts a character is taken to need two.
func cut(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	used := 1
	for i, r := range text {
		if used += columns(string(r)); used > width {
			return text[:i] + "…"
		}
	}
	return text
}

func columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}
