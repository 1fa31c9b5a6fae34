// Package screen is what people see of a run while it goes on: lines with the shard in front, or one live line per
// shard.
//
// It owns the writer it is given until Close. It knows neither reports nor verdicts, and starts nothing but the one
// goroutine that redraws.
//
// The choice a reader would question: a write error stops nothing. It is kept and told at the end, since a terminal
// that is gone is no reason to lose a run.
package screen

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/report/ci"
)

// Screen is where a run shows itself. What is written at once is whole lines. A write may hang, on a terminal that
// somebody stopped: so nothing but a reader of output, Open and Close may write.
type Screen interface {
	Open()
	Lines(shard int) *Liner                                 // takes the shard's output
	State(shard int, state string)                          // what the shard is doing now
	Close(blocks func() []Block, summary func(w io.Writer)) // ends the live part and writes the blocks and the summary
	Err() error                                             // the first write that failed
}

// Block is a part of a CI log that is folded up. Elsewhere it is not shown.
type Block struct {
	Name, Title string
	Lines       []string
}

// Config says how a run is shown.
type Config struct {
	Out    io.Writer
	Live   bool      // one line per shard, rewritten in place; for terminals only
	Quiet  bool      // nothing before the summary
	CI     ci.System // whose log Out is: output is folded up, and on GitHub kept from being read as commands
	Colour bool      // of what boxer itself writes
	Plain  bool      // take the colours out of the output too
	Width  int       // columns of the terminal, 0 for unknown
	First  int       // number of the first shard
	Count  int       // shards that are shown
	Total  int       // shards on all nodes
	Folder string    // where the whole output is, for people
}

// New gives the screen; Open starts it.
func New(c Config) Screen {
	base := lineScreen{c: c, left: c.CI.Limit()}
	if c.Live {
		return newLiveScreen(c, &base)
	}
	return &base
}

// outputBlock is the name of the part of a CI log that holds the output as it came.
const outputBlock = "output"

// lineScreen shows the output as it comes.
type lineScreen struct {
	c      Config
	unlock string // what ends the fence that is open

	mu     sync.Mutex
	left   int // bytes of output that may still be shown; 0: it has no limit, or there was none left
	ended  bool
	failed error
}

func (s *lineScreen) Open() {
	if s.c.CI == ci.None || s.c.CI == "" || s.c.Quiet {
		return
	}
	title := fmt.Sprintf("output of %d shards", s.c.Count)
	if s.c.Count == 1 {
		title = "output"
	}
	s.print(s.c.CI.Open(outputBlock, title, time.Now()) + s.fence())
}

// fence opens a new fence, with a token of its own: the one before is known once it was used.
func (s *lineScreen) fence() string {
	before, behind := s.c.CI.Fence(ci.NewToken())
	s.unlock = behind
	return before
}

func (s *lineScreen) Lines(shard int) *Liner {
	return &Liner{Prefix: s.prefix(shard), Plain: s.c.Plain, Emit: s.output}
}

func (s *lineScreen) prefix(shard int) string { return fmt.Sprintf("[%d/%d] ", shard, s.c.Total) }

func (s *lineScreen) output(block []byte) {
	if !s.c.Quiet {
		s.write(s.fitting(block))
	}
}

// fitting is what of the block has room in a log with a limit. The end is told once; the files hold all.
func (s *lineScreen) fitting(block []byte) []byte {
	limit := s.c.CI.Limit()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case limit == 0:
		return block
	case s.ended:
		return nil
	case len(block) > s.left:
		s.ended = true
		return fmt.Appendf(nil, "... this log takes no more than %d MiB of output: all of it is in %s\n", limit>>20, s.c.Folder)
	}
	s.left -= len(block)
	return block
}

func (s *lineScreen) State(int, string) {}

func (s *lineScreen) Close(blocks func() []Block, summary func(io.Writer)) {
	if s.c.CI == ci.None || s.c.CI == "" {
		summary(writerFunc(s.write))
		return
	}
	if !s.c.Quiet {
		s.print(s.unlock + s.c.CI.Close(outputBlock, time.Now()))
	}
	for _, b := range blocks() {
		s.print(s.c.CI.Open(b.Name, b.Title, time.Now()) + s.fence())
		for _, line := range b.Lines {
			s.print(line + "\n")
		}
		s.print(s.unlock + s.c.CI.Close(b.Name, time.Now()))
	}
	s.print(s.fence())
	summary(writerFunc(s.write))
	s.print(s.unlock)
}

func (s *lineScreen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *lineScreen) print(text string) { s.write([]byte(text)) }

// write never stops a run: a terminal that is gone is told at the end.
func (s *lineScreen) write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.c.Out.Write(b); err != nil && s.failed == nil {
		s.failed = err
	}
	return len(b), nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
