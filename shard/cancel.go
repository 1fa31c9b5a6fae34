package shard

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// strangeSignal ends a run in which a command died of a signal that boxer did not send: whoever ends all processes of a
// job (GitLab's docker executor does) reaches the commands before it reaches boxer.
type strangeSignal struct {
	shard  int
	signal syscall.Signal
}

func (s strangeSignal) Signal() syscall.Signal { return s.signal }

func (s strangeSignal) Error() string {
	return fmt.Sprintf("stopped because shard %d was ended by a %s that boxer did not send", s.shard, signalName(s.signal))
}

// failFast ends the other shards after one that failed.
type failFast struct{ shard int }

func (f failFast) Error() string { return fmt.Sprintf("stopped because shard %d failed", f.shard) }

// timeLimit is the cause of a shard's context that ran out.
type timeLimit time.Duration

func (t timeLimit) Error() string { return "time limit " + time.Duration(t).String() }

// unitLimit is the cause of a command's context when its units took too long. Causes are compared, so it holds no slice.
type unitLimit struct {
	each  time.Duration
	units int
	only  string // key of the unit if there is just one
}

func (u unitLimit) Error() string {
	if u.units == 1 {
		return fmt.Sprintf("time limit %s of the unit %s", u.each, u.only)
	}
	return fmt.Sprintf("time limit %s for each of %d units", u.each, u.units)
}

// signalOf finds the signal that ended the context, 0 if it was none.
func signalOf(ctx context.Context) syscall.Signal {
	var s interface{ Signal() syscall.Signal }
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &s) {
		return s.Signal()
	}
	return 0
}

// afterwards gives work that must be done in a run that was cancelled too its own time: limit, of which only urgent is
// left once ctx has ended, and nothing once killed has.
func afterwards(ctx, killed context.Context, limit, urgent time.Duration) (context.Context, context.CancelFunc) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stopKill := context.AfterFunc(killed, cancel)
	stopUrgent := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(urgent, cancel)
		context.AfterFunc(own, func() { t.Stop() })
	})
	return own, func() {
		stopKill()
		stopUrgent()
		cancel()
	}
}

// killContext ends when the channel is closed; nil never is.
func killContext(ctx context.Context, kill <-chan struct{}) (context.Context, context.CancelFunc) {
	killed, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if kill == nil {
		return killed, cancel
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-kill:
			cancel()
		case <-killed.Done():
		}
	}()
	return killed, func() {
		cancel()
		<-ended
	}
}
