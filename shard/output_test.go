package shard

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report/ci"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/screen"
)

// screenOf is what was written, and lets a test wait for a part of it.
type screenOf struct {
	mu      sync.Mutex
	text    bytes.Buffer
	waiting []waiting
}

type waiting struct {
	part  string
	count int
	done  chan struct{}
}

func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	s.waiting = pending(s.waiting, s.text.String())
	return len(p), nil
}

func pending(all []waiting, text string) []waiting {
	var left []waiting
	for _, w := range all {
		if strings.Count(text, w.part) >= w.count {
			close(w.done)
		} else {
			left = append(left, w)
		}
	}
	return left
}

// when closes the channel once the part was written that many times.
func (s *screenOf) when(part string, count int) <-chan struct{} {
	done := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = pending(append(s.waiting, waiting{part, count, done}), s.text.String())
	return done
}

func (s *screenOf) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestALeftoverProcessHoldsNothingUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `sleep 60 & echo done`)
	begin := time.Now()
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("waited %s", took)
	}
	if !res.Shards[0].Leftover || len(res.Warnings) != 1 {
		t.Errorf("leftover %v, warnings %q", res.Shards[0].Leftover, res.Warnings)
	}
	if log := contents(t, res.ReportDir, "shard-1.log"); log != "done\n" {
		t.Errorf("log %q", log)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `echo '::error::x'; echo '##[error]y'`)
	o.CI = ci.GitHub
	var out screenOf
	o.Out = &out
	if _, err := Run(t.Context(), forking{m}, o); err != nil {
		t.Fatal(err)
	}
	outside, inside := unfenced(t, out.String())
	if want := []string{"::group::output", "::endgroup::"}; !slices.Equal(outside, want) {
		t.Errorf("outside of the fence: %q", outside)
	}
	for _, l := range inside {
		if strings.HasPrefix(l, "::") || strings.Contains(l, "##[") {
			t.Errorf("a command in %q", l)
		}
	}
	if !slices.Contains(inside, "[1/1] ::error::x") || !slices.Contains(inside, "[1/1] # #[error]y") {
		t.Errorf("the output is gone: %q", inside)
	}
}

// unfenced reads a log as GitHub's runner does: which lines it looks at for commands, and which it does not.
func unfenced(t *testing.T, log string) (outside, inside []string) {
	t.Helper()
	token := ""
	used := map[string]bool{}
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		switch begin, ok := strings.CutPrefix(line, "::stop-commands::"); {
		case token == "" && ok:
			if token = begin; len(token) != 32 || used[token] {
				t.Errorf("%q is no token, or was used before", token)
			}
			used[token] = true
		case token != "" && line == "::"+token+"::":
			token = ""
		case token == "":
			outside = append(outside, line)
		default:
			inside = append(inside, line)
		}
	}
	if token != "" {
		t.Errorf("a fence is open at the end:\n%s", log)
	}
	return outside, inside
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestABrokenOutputEndsNothingAndIsTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "echo x")
	o.Out = brokenPipe{}
	res, err := Run(t.Context(), forking{m}, o)
	if !errors.Is(err, syscall.EPIPE) || runner.CauseOf(err) != "OUTPUT_NOT_WRITTEN" || res.ExitCode != 125 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	checkRemoved(t, m)
	contents(t, res.ReportDir, "junit.xml")
}

// stuck is a terminal that somebody stopped.
type stuck struct {
	once    sync.Once
	reached chan struct{}
	release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.reached) })
	<-s.release
	return len(p), nil
}

func TestAStuckTerminalDoesNotHoldUpTheRemoval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out := &stuck{reached: make(chan struct{}), release: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(t.Context())
	o := m.shell(1, "echo x; exec sleep 60")
	o.Out = out
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx, forking{m}, o)
	}()
	<-out.reached
	cancel(interrupted(syscall.SIGINT))
	deadline := time.After(20 * time.Second)
	for len(m.alive()) > 0 {
		select {
		case <-deadline:
			t.Fatal("the child is still there")
		case <-time.After(10 * time.Millisecond):
		}
	}
	close(out.release)
	<-ended
}

func TestBigOutputNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, `head -c 20000000 /dev/zero | tr '\0' x; echo; echo last`)
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	info, err := os.Stat(filepath.Join(res.ReportDir, "shard-1.log"))
	if err != nil || info.Size() != 20000006 {
		t.Errorf("the log is not whole: %v, %v", info, err)
	}
}

func TestAFullDiskStopsNoCommand(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	p := &pump{pipe: pipe, log: full, clean: newRedactor(nil), done: make(chan struct{})}
	p.lines = &screen.Liner{Emit: func(b []byte) { seen.Write(b) }}
	go p.run()
	text := strings.Repeat("x\n", 200_000) // more than a pipe holds
	if _, err := w.WriteString(text); err != nil {
		t.Error(err)
	}
	w.Close()
	out := p.finish(t.Context())
	if !errors.Is(out.err, syscall.ENOSPC) || out.leftover || seen.String() != text {
		t.Errorf("error %v, leftover %v, %d bytes seen", out.err, out.leftover, seen.Len())
	}
}
