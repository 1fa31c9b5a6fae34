//go:build linux

package gvisor

import (
	"fmt"

	"github.com/boxer-ci/boxer/runner"
)

// memoryReserve is what must stay free beside the children, or the kernel ends whatever it likes.
const memoryReserve = 64 << 20

// admit lets a child start if the machine has the memory for it: a child is a copy, so it needs as much as its
// parent. Those that are starting already are counted in full, for they have hardly taken anything yet. leave is
// called when the child is there, or not.
func (e *engine) admit(each int64) (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	free := runner.FreeMemory("/")
	if !admits(free, e.starting, each) {
		return nil, &runner.Error{
			Reason: fmt.Sprintf("one more child needs about %d MiB of memory, as much as its parent, and %d MiB are free", (each+memoryReserve)>>20, (free-e.starting)>>20),
			Cause:  runner.NoMemory, Scope: e.scope.String(), Worktree: e.scope.Worktree, Fix: "boxer ls --resources",
		}
	}
	e.starting += each
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.starting -= each
	}, nil
}

// admits tells whether a child of each bytes fits beside what is starting. Where nobody knows what is free, it does.
func admits(free, starting, each int64) bool {
	return free == 0 || free-starting >= each+memoryReserve
}
