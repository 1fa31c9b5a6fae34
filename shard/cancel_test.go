package shard

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// interrupted is the cause that a caller ends the run with.
type interrupted syscall.Signal

func (i interrupted) Signal() syscall.Signal { return syscall.Signal(i) }

func (i interrupted) Error() string { return "interrupted by " + signalName(i.Signal()) }

func TestAStrangeSignalCancelsTheRun(t *testing.T) {
	t.Parallel()
	for signal, code := range map[string]int{"TERM": 143, "KILL": 137} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(3, `test <i> = 2 && kill -`+signal+` $$; exec sleep 60`)
			res, err := Run(t.Context(), forking{m}, o)
			check(t, res, err, code, Cancelled, Cancelled, Cancelled)
			checkRemoved(t, m)
		})
	}
}

// cancelWhen runs the options and interrupts the run once the part was written that many times.
func cancelWhen(t *testing.T, s runner.Session, o Options, cause error, part string, count int) (Result, error, time.Duration) {
	t.Helper()
	var out screenOf
	o.Out = &out
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	seen := out.when(part, count)
	var since time.Time
	go func() {
		<-seen
		since = time.Now()
		cancel(cause)
	}()
	res, err := Run(ctx, s, o)
	select {
	case <-seen:
	default:
		t.Fatalf("the run ended before %q was seen %d times:\n%s", part, count, out.String())
	}
	if ctx.Err() == nil {
		<-ctx.Done()
	}
	return res, err, time.Since(since)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		signal     syscall.Signal
		limit      time.Duration
	}{
		{"SIGINT, children obey", "echo ready; exec sleep 60", syscall.SIGINT, 2 * time.Second},
		{"SIGTERM, children obey", "echo ready; exec sleep 60", syscall.SIGTERM, 2 * time.Second},
		{"SIGHUP, children do not", `trap "" TERM; echo ready; while :; do sleep 60; done`, syscall.SIGHUP, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.shell(4, junit("r.xml", "t<i>")+"; "+tt.line)
			o.JUnit = []string{"r.xml"}
			res, err, took := cancelWhen(t, forking{m}, o, interrupted(tt.signal), "ready", 4)
			check(t, res, err, 128+int(tt.signal), Cancelled, Cancelled, Cancelled, Cancelled)
			checkRemoved(t, m)
			if took > tt.limit {
				t.Errorf("took %s, limit %s", took, tt.limit)
			}
			if merged := contents(t, res.ReportDir, "junit.xml"); !strings.Contains(merged, `name="t4"`) {
				t.Errorf("what the shards had written is not in the report:\n%s", merged)
			}
		})
	}
}

func TestInterruptWhileForking(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	m.onFork = func(n int) {
		if n == 2 {
			cancel(interrupted(syscall.SIGINT))
		}
	}
	res, err := Run(ctx, forking{m}, m.shell(4, "exec sleep 60"))
	check(t, res, err, 130, Cancelled, Cancelled, Cancelled, Cancelled)
	checkRemoved(t, m)
	if m.made != 2 {
		t.Errorf("%d children were made, want 2", m.made)
	}
	for _, s := range res.Shards {
		if s.Child == "" && !s.Started.IsZero() {
			t.Errorf("shard %d started without a child", s.Number)
		}
	}
}

func TestInterruptWithKeepRemoves(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "echo ready; exec sleep 60")
	o.Keep = true
	res, err, _ := cancelWhen(t, forking{m}, o, interrupted(syscall.SIGINT), "ready", 2)
	check(t, res, err, 130, Cancelled, Cancelled)
	checkRemoved(t, m)
}

func TestKill(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	kill := make(chan struct{})
	o := m.shell(4, `trap "" TERM; echo ready; while :; do sleep 60; done`)
	o.Kill = kill
	var out screenOf
	o.Out = &out
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ready := out.when("ready", 4)
	var since time.Time
	go func() {
		<-ready
		since = time.Now()
		cancel(interrupted(syscall.SIGINT))
		close(kill)
	}()
	res, err := Run(ctx, forking{m}, o)
	check(t, res, err, 130, Cancelled, Cancelled, Cancelled, Cancelled)
	checkRemoved(t, m)
	if took := time.Since(since); took > 1500*time.Millisecond {
		t.Errorf("took %s although nobody would wait", took)
	}
	contents(t, res.ReportDir, "junit.xml")
}
