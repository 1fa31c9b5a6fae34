//go:build unix && !linux

package smolvm

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
)

// identify names a process so that it can be told from a later one with its number.
func identify(pid int) (runner.Process, error) {
	const zombie = 5 // SZOMB
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err == nil && k.Proc.P_stat == zombie {
		err = fmt.Errorf("process %d has ended", pid)
	}
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
	now, err := identify(p.PID)
	return err == nil && now == p
}

// memoryOf is not known here.
func memoryOf(int) runner.Usage { return runner.Usage{} }
