package shard

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
)

// screen is what people see of a run. What is written at once is whole lines. A write may hang, on a terminal that
// somebody stopped: so nothing but a reader of output, open and close may write.
type screen interface {
	open()
	prefix(shard int) string         // of each line of the shard's output
	output(shard int, block []byte)  // whole lines with their prefix
	state(shard int, state string)   // what the shard is doing now
	close(summary func(w io.Writer)) // ends the live part and writes the summary
	err() error                      // the first write that failed
}

func newScreen(o Options) screen {
	base := lineScreen{w: o.Out, total: o.total(), quiet: o.Mode == Quiet}
	if o.Fence {
		base.token = newToken()
	}
	if o.Mode == Live {
		return newLiveScreen(o, &base)
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

func (s *lineScreen) open() {
	if s.token != "" {
		s.print("::stop-commands::" + s.token + "\n")
	}
}

func (s *lineScreen) prefix(shard int) string { return fmt.Sprintf("[%d/%d] ", shard, s.total) }

func (s *lineScreen) output(_ int, block []byte) {
	if !s.quiet {
		s.write(block)
	}
}

func (s *lineScreen) state(int, string) {}

func (s *lineScreen) close(summary func(io.Writer)) {
	summary(writerFunc(s.write))
	if s.token != "" {
		s.print("::" + s.token + "::\n")
	}
}

func (s *lineScreen) err() error {
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
