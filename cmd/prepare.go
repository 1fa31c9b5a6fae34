package cmd

import (
	"context"

	"github.com/boxer-ci/boxer/runner"
)

// prepare restarts a running sandbox that is no branch source, which is for the caller to have asked for. On backends
// where every sandbox is one there is nothing to do.
func (d deps) prepare(ctx context.Context, session runner.Session) (restarted bool, err error) {
	r, ok := session.(runner.Restarter)
	if !ok {
		return false, nil
	}
	ok, err = r.Forkable(ctx)
	if ok || err != nil {
		return false, err
	}
	d.say("this sandbox is no branch source: it is restarted as one, which ends whatever is running in it")
	return true, r.Restart(ctx, d.step)
}

// forkable refuses a running sandbox that would have to be restarted, before anything is done with it.
func (d deps) forkable(ctx context.Context, session runner.Session, scope runner.Scope, fix string) error {
	r, ok := session.(runner.Restarter)
	if !ok {
		return nil
	}
	ok, err := r.Forkable(ctx)
	if ok || err != nil {
		return err
	}
	e := notForkable(scope)
	e.Fix = fix
	return e
}
