//go:build unix && !linux

package keeper

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
)

// identify names a process so that it can be told from a later one with its number.
func identify(pid int) (runner.Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return runner.Process{}, err
	}
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return runner.Process{}, err
	}
	start := k.Proc.P_starttime
	return runner.Process{
		PID: pid, Start: fmt.Sprintf("%d.%06d", start.Sec, start.Usec), Boot: fmt.Sprint(boot.Sec),
	}, nil
}

func alive(p runner.Process) bool {
	const zombie = 5 // SZOMB
	k, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	if err != nil || k.Proc.P_stat == zombie {
		return false
	}
	now, err := identify(p.PID)
	return err == nil && now == p
}

func end(p runner.Process) {
	if alive(p) {
		unix.Kill(p.PID, unix.SIGKILL)
	}
}

// Nothing is mounted on these systems.
func noMountBelow(string) error { return nil }
func unmountBelow(string) error { return nil }

// endStrays has no process table to read.
func endStrays(context.Context, string) error { return nil }

// ours need not ask: the socket and its folder can be entered by the owner alone.
func ours(*net.UnixConn) error { return nil }
