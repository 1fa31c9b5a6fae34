package keeper

import (
	"context"
	"sync"

	"github.com/boxer-ci/boxer/runner"
)

// preparation is the one time that the parent is booted and prepared.
type preparation struct {
	mu    sync.Mutex
	spec  *runner.Spec // nil until somebody claims it
	over  chan struct{}
	error error // set before over is closed
}

func newPreparation() *preparation { return &preparation{over: make(chan struct{})} }

// claim tells the first caller that it is to prepare the parent. Who wants another parent than the first is refused.
func (p *preparation) claim(spec runner.Spec) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spec == nil {
		p.spec = &spec
		return true, nil
	}
	if p.spec.Hash() != spec.Hash() {
		return false, &runner.Error{
			Reason: "the configuration asks for another sandbox than the one that runs: its services, setup, mounts or folder have changed since it was started",
			Cause:  runner.ConfigChanged, Fix: "boxer down",
		}
	}
	return false, nil
}

func (p *preparation) finish(err error) {
	p.error = err
	close(p.over)
}

// wait waits for the end of the preparation.
func (p *preparation) wait(ctx context.Context) error {
	select {
	case <-p.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.error != nil {
		return errGone("preparing the sandbox failed, so it is being removed").Because(p.error)
	}
	return nil
}

func (p *preparation) done() bool {
	select {
	case <-p.over:
		return p.error == nil
	default:
		return false
	}
}

func (p *preparation) failed() bool {
	select {
	case <-p.over:
		return p.error != nil
	default:
		return false
	}
}

// worktree is what the parent sees its files as; "" before it is known.
func (p *preparation) worktree() runner.Worktree {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spec == nil {
		return ""
	}
	return p.spec.Worktree
}
