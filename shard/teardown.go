package shard

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

const (
	removeLimit  = 30 * time.Second
	removeUrgent = 2 * time.Second // of a run that was cancelled
)

var errKilled = errors.New("killed")

// tearDown removes what the run made, or keeps it if that was asked for and nobody interrupted. It takes its own time:
// the run's is often over.
func (r *run) tearDown(ctx context.Context, source runner.Source, res *Result) error {
	own, done := afterwards(ctx, context.WithoutCancel(ctx), removeLimit, removeUrgent)
	defer done()
	var err error
	if r.options.Keep && ctx.Err() == nil {
		err = r.keep(own, res)
	} else {
		err = r.remove(own, res)
	}
	if source == nil {
		return err
	}
	return errors.Join(err, r.backendFailed("the source of the forks was not given back", source.Release(own)))
}

func (r *run) keep(ctx context.Context, res *Result) error {
	keys, slugs := r.names()
	if err := r.session.Keep(ctx, keys...); err != nil {
		return r.backendFailed("the children could not be kept", err)
	}
	res.Kept, res.parentKept = slugs, r.session.Started()
	return nil
}

// backendFailed is nil for no error; one that a person can act on already stays as it is.
func (r *run) backendFailed(reason string, err error) error {
	if _, ok := errors.AsType[*runner.Error](err); ok || err == nil {
		return err
	}
	return (&runner.Error{Reason: reason, Cause: runner.BackendFailed, Fix: "boxer ls"}).At(r.options.Scope).Because(err)
}

// remove tries twice and then says what is left.
func (r *run) remove(ctx context.Context, res *Result) error {
	keys, _ := r.names()
	if len(keys) == 0 {
		return nil
	}
	err := r.session.Remove(ctx, keys...)
	if err != nil {
		err = r.session.Remove(ctx, keys...)
	}
	if err == nil {
		return nil
	}
	res.NotRemoved = r.left(ctx)
	if len(res.NotRemoved) == 0 {
		return nil
	}
	return (&runner.Error{
		Reason: "could not remove " + strings.Join(res.NotRemoved, ", "), Cause: "NOT_REMOVED",
		Fix: "boxer fork rm " + strings.Join(res.NotRemoved, " "),
	}).At(r.options.Scope).Because(err)
}

// left are the children of the run that the backend still knows; all of them, if it does not answer.
func (r *run) left(ctx context.Context) []string {
	keys, slugs := r.names()
	there, err := r.session.List(ctx)
	if err != nil {
		return slugs
	}
	var left []string
	for i, key := range keys {
		for _, s := range there {
			if s.Key == key {
				left = append(left, slugs[i])
			}
		}
	}
	return left
}

func (r *run) names() (keys, slugs []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.forked {
		keys, slugs = append(keys, c.Key), append(slugs, c.Slug)
	}
	return keys, slugs
}

// removeWhenKilled ends the children at once when somebody will not wait any longer: their commands end with them.
func (r *run) removeWhenKilled() (stop func()) {
	done := make(chan struct{})
	unregister := context.AfterFunc(r.killed, func() {
		defer close(done)
		r.cancel(errKilled)
		own, cancel := context.WithTimeout(context.WithoutCancel(r.killed), removeUrgent)
		defer cancel()
		keys, _ := r.names()
		if len(keys) > 0 {
			r.session.Remove(own, keys...) // told by the teardown proper, which tries again
		}
	})
	return func() {
		if !unregister() {
			<-done
		}
	}
}
