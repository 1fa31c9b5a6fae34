//go:build unix && !linux

package host

import (
	"context"
	"syscall"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// killAll ends the process groups of the children's commands that still run: there is no process table to look for
// more in.
func killAll(ctx context.Context, children []*child) error {
	for _, c := range children {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, leader := range c.sessions {
			leader.SignalGroup(syscall.SIGKILL)
			if _, err := leader.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *child) pick([]reap.Stat) []reap.Stat { return nil }

func (c *child) forget([]reap.Stat) {
	for sid, leader := range c.sessions {
		select {
		case <-leader.Done():
			delete(c.sessions, sid)
		default:
		}
	}
}
