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
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
)

// Screen is where a run shows itself. What is written at once is whole lines. A write may hang, on a terminal that
// somebody stopped: so nothing but a reader of output, Open and Close may write.
type Screen interface {
	Open()
	Prefix(shard int) string         // of each line of the shard's output
	Output(shard int, block []byte)  // whole lines with their prefix
	State(shard int, state string)   // what the shard is doing now
	Close(summary func(w io.Writer)) // ends the live part and writes the summary
	Err() error                      // the first write that failed
}

// Config says how a run is shown.
type Config struct {
	Out   io.Writer
	Live  bool // one line per shard, rewritten in place; for terminals only
	Quiet bool // nothing before the summary
	Fence bool // keep output from being read as workflow commands of GitHub Actions
	Width int  // columns of the terminal
	First int  // number of the first shard
	Count int  // shards that are shown
	Total int  // shards on all nodes
}

// New gives the screen; Open starts it.
func New(c Config) Screen {
	base := lineScreen{w: c.Out, total: c.Total, quiet: c.Quiet}
	if c.Fence {
		base.token = newToken()
	}
	if c.Live {
		return newLiveScreen(c, &base)
	}
	return &base
}

// newToken makes the word that ends a fence. The commands never see it, so they cannot end it themselves.
func newToken() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// lineScreen shows the output as it comes.
type lineScreen struct {
	total int
	quiet bool
	token string // of GitHub's stop-commands; "" is no fence

	mu     sync.Mutex
	w      io.Writer
	failed error
}

func (s *lineScreen) Open() {
	if s.token != "" {
		s.print("::stop-commands::" + s.token + "\n")
	}
}

func (s *lineScreen) Prefix(shard int) string { return fmt.Sprintf("[%d/%d] ", shard, s.total) }

func (s *lineScreen) Output(_ int, block []byte) {
	if !s.quiet {
		s.write(block)
	}
}

func (s *lineScreen) State(int, string) {}

func (s *lineScreen) Close(summary func(io.Writer)) {
	summary(writerFunc(s.write))
	if s.token != "" {
		s.print("::" + s.token + "::\n")
	}
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
	if _, err := s.w.Write(b); err != nil && s.failed == nil {
		s.failed = err
	}
	return len(b), nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
