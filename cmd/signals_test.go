package cmd

import (
	"context"
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
)

func listening(t *testing.T) (context.Context, *Signals, *[]int) {
	t.Helper()
	exits := &[]int{}
	ctx, s := newSignals(t.Context(), func(code int) { *exits = append(*exits, code) })
	return ctx, s, exits
}

func TestFirstSignalEndsTheContextAndSaysWhich(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, s, exits := listening(t)
		s.take(sig)
		got, ok := errors.AsType[Interrupted](context.Cause(ctx))
		if !ok || got.Signal() != sig || len(*exits) != 0 {
			t.Errorf("%v: cause %v, exits %v", sig, context.Cause(ctx), *exits)
		}
	}
}

func TestSecondSignalKillsAndThirdExits(t *testing.T) {
	t.Parallel()
	_, s, exits := listening(t)
	kill := s.Kill()
	s.take(syscall.SIGINT)
	select {
	case <-kill:
		t.Fatal("the first signal kills")
	default:
	}
	s.take(syscall.SIGTERM)
	select {
	case <-kill:
	default:
		t.Fatal("the second signal does not kill")
	}
	if len(*exits) != 0 {
		t.Fatalf("the second signal exits: %v", *exits)
	}
	s.take(syscall.SIGINT)
	s.take(syscall.SIGINT)
	if !reflect.DeepEqual(*exits, []int{130, 130}) {
		t.Errorf("exits %v", *exits)
	}
}

// Who never asked for the second signal has nothing to kill: boxer goes at once.
func TestSecondSignalExitsWhereNobodyKills(t *testing.T) {
	t.Parallel()
	_, s, exits := listening(t)
	s.take(syscall.SIGTERM)
	s.take(syscall.SIGTERM)
	if !reflect.DeepEqual(*exits, []int{143}) {
		t.Errorf("exits %v", *exits)
	}
}

func TestForwardedSignalsEndNothing(t *testing.T) {
	t.Parallel()
	ctx, s, exits := listening(t)
	in, back := s.Forward()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGUSR1, syscall.SIGINT} {
		s.take(sig)
		if got := <-in; got != sig {
			t.Errorf("got %v, not %v", got, sig)
		}
	}
	if ctx.Err() != nil || len(*exits) != 0 {
		t.Errorf("context %v, exits %v", ctx.Err(), *exits)
	}
	for range 2 * queued {
		s.take(syscall.SIGINT) // a command that takes none must not stop boxer
	}
	back()
	s.take(syscall.SIGUSR1) // means nothing to boxer
	if ctx.Err() != nil {
		t.Error("SIGUSR1 ends boxer")
	}
	s.take(syscall.SIGINT)
	if ctx.Err() == nil {
		t.Error("after the command signals are boxer's again")
	}
}

func TestNoSignals(t *testing.T) {
	t.Parallel()
	var s *Signals
	if s.Kill() != nil {
		t.Error("kill")
	}
	in, back := s.Forward()
	back()
	if in != nil {
		t.Error("forward")
	}
}
