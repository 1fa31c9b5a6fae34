//go:build unix && !linux

package reap

import "syscall"

// onMainThread cannot be told here, and need not be: what StartOn is used for is Linux's alone.
func onMainThread() bool { return false }

// groupLives tells whether a process of the group can be signalled; one of zombies alone cannot be on macOS.
func groupLives(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }
