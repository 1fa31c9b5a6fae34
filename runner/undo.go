package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Undo is a stack of steps that take back what was done. Take first, then push the step that gives back; run it when
// something later fails, drop it on success. Steps run backwards. The zero value is ready; safe for concurrent use.
type Undo struct {
	mu    sync.Mutex
	steps []undoStep
}

type undoStep struct {
	what string
	back func(context.Context) error
}

// Push registers how to take back what was just done.
func (u *Undo) Push(what string, back func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.steps = append(u.steps, undoStep{what, back})
}

// Drop forgets all steps: what was done stays.
func (u *Undo) Drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.steps = nil
}

// Run takes back every step, the last first, and goes on after one that fails. It takes its own time, since the
// caller's context is often the cancelled one: limit bounds all steps together.
func (u *Undo) Run(ctx context.Context, limit time.Duration) error {
	u.mu.Lock()
	steps := u.steps
	u.steps = nil
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		if err := steps[i].back(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", steps[i].what, err))
		}
	}
	return errors.Join(errs...)
}
