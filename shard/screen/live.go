package screen

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/report/text"
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

func newLiveScreen(c Config, base *lineScreen) *liveScreen {
	return &liveScreen{
		lineScreen: base, width: cmp.Or(c.Width, 80), first: c.First, shards: make([]liveShard, c.Count),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

func (s *liveScreen) Open() {
	s.lineScreen.Open()
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

func (s *liveScreen) Lines(shard int) *Liner {
	return &Liner{Plain: true, Emit: func(block []byte) { s.output(shard, block) }}
}

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

func (s *liveScreen) State(shard int, state string) {
	s.data.Lock()
	defer s.data.Unlock()
	l := &s.shards[shard-s.first]
	now := time.Now()
	l.took = now.Sub(l.since)
	l.state, l.since = state, now
}

func (s *liveScreen) Close(blocks func() []Block, summary func(io.Writer)) {
	close(s.stop)
	<-s.stopped
	s.write(s.erase())
	s.lineScreen.Close(blocks, summary)
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
		return s.prefix(s.first+i) + "waiting"
	case "forking", "running":
	default:
		took = l.took
	}
	head := s.prefix(s.first + i)
	line := head + l.state + " " + text.Seconds(took)
	if message := strings.ReplaceAll(l.message, "\t", " "); message != "" && l.state == "running" {
		line += "  " + message
	}
	line = text.Cut(line, s.width-1)
	if rest, whole := strings.CutPrefix(line, head+l.state); whole && s.c.Colour {
		return head + text.Paint(text.ColourOf(l.state), l.state) + rest
	}
	return line
}
