//go:build unix && !linux

package reap

// Kill is never called: without a process table there is no line to call it on.
func (Stat) Kill() {}

// Stop is never called either.
func (Stat) Stop() {}
