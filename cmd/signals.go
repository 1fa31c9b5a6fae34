package cmd

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Interrupted is the cause of a context that a signal ended.
type Interrupted syscall.Signal

func (i Interrupted) Error() string { return "interrupted by " + i.name() }

// Signal is what boxer got: packages below find it by this method.
func (i Interrupted) Signal() syscall.Signal { return syscall.Signal(i) }

func (i Interrupted) name() string {
	switch syscall.Signal(i) {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return syscall.Signal(i).String()
}

// Signals decides what the signals that boxer gets mean. The first ends the work in good order, the second kills at
// once, the third ends boxer where it stands. While a command runs in a sandbox for somebody, signals are that
// command's instead.
type Signals struct {
	cancel context.CancelCauseFunc
	exit   func(code int)

	mu      sync.Mutex
	got     int
	kill    chan struct{}  // closed by the second; nil while nobody could act on it
	forward chan os.Signal // nil while signals mean boxer
	more    chan<- os.Signal
}

// queued is how many signals may wait for a command that is slow to take them; more are as good as one.
const queued = 16

// Listen makes the root context, which the first signal ends. exit is os.Exit. A SIGHUP that was ignored when boxer
// started stays ignored: that is how nohup asks for it.
func Listen(parent context.Context, exit func(int)) (context.Context, *Signals) {
	in := make(chan os.Signal, queued)
	signal.Notify(in, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(in, syscall.SIGHUP)
	}
	// A reader of our output that goes away must not end us in the middle of a teardown. Taken and not ignored, since
	// what is ignored would be so in every program we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, s := newSignals(parent, exit)
	s.more = in
	go func() {
		for sig := range in {
			s.take(sig)
		}
	}()
	return ctx, s
}

func newSignals(parent context.Context, exit func(int)) (context.Context, *Signals) {
	ctx, cancel := context.WithCancelCause(parent)
	return ctx, &Signals{cancel: cancel, exit: exit}
}

func (s *Signals) take(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forward != nil {
		select {
		case s.forward <- sig:
		default:
		}
		return
	}
	number, ok := sig.(syscall.Signal)
	if !ok || !ends(number) {
		return
	}
	s.got++
	switch {
	case s.got == 1:
		s.cancel(Interrupted(number))
	case s.got == 2 && s.kill != nil:
		close(s.kill)
	default:
		s.exit(128 + int(number))
	}
}

// foretell ends the work as the first signal does, for one that is on its way. When that comes it is the first still.
func (s *Signals) foretell(sig syscall.Signal) { s.cancel(Interrupted(sig)) }

func ends(s syscall.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

// Kill is closed by the second signal. Who never asks for it is ended by the second signal instead of the third: there
// is nothing to remove that the kernel does not remove when boxer is gone.
func (s *Signals) Kill() <-chan struct{} {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kill == nil {
		s.kill = make(chan struct{})
	}
	return s.kill
}

// Forward hands every signal from now on to a command, those included that otherwise mean nothing to boxer. back
// makes them boxer's own again.
func (s *Signals) Forward() (signals <-chan os.Signal, back func()) {
	if s == nil {
		return nil, func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forward = make(chan os.Signal, queued)
	if s.more != nil {
		signal.Notify(s.more, forwarded...)
	}
	return s.forward, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forward = nil
	}
}
