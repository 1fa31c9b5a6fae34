//go:build linux

package gvisor

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// memoryToPack refuses where gVisor could run out of memory: it reads each file whole, and dies if that fails.
func (e *engine) memoryToPack() error {
	parent, err := e.Usage(keeper.Parent)
	if err != nil {
		return err
	}
	if free := runner.FreeMemory("/"); free > 0 && parent.Disk > free {
		return &runner.Error{
			Reason: fmt.Sprintf("the sandbox has %d MiB of files, which would not fit into the %d MiB of memory that are free", parent.Disk>>20, free>>20),
			Cause:  runner.NoMemory, Scope: e.scope.String(), Worktree: e.scope.Worktree, Fix: "boxer ls --resources",
		}
	}
	return nil
}

// roomForPack refuses a pack that neither the disk nor, for the moment in which gVisor reads it, the memory has room
// for: twice on the disk, as a tar file and in the sandbox's own files.
func (e *engine) roomForPack(size int64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(e.env.Dir, &fs); err != nil {
		return err
	}
	refuse := func(where string, need, free int64, cause runner.Cause, fix string) error {
		return &runner.Error{
			Reason: fmt.Sprintf("the pack needs about %d MiB %s, and %d MiB are free", need>>20, where, free>>20), Cause: cause,
			Scope: e.scope.String(), Worktree: e.scope.Worktree, Fix: fix,
		}
	}
	if need, free := 2*size+checkpointReserve, int64(fs.Bavail)*fs.Bsize; need > free || need < size {
		return refuse("in "+e.env.Dir, need, free, runner.NoSpace, "BOXER_TMP=/a/larger/disk boxer pack use ...")
	}
	need := size*5/2 + checkpointReserve // measured: gVisor's buffers double as they grow
	if free := runner.FreeMemory("/"); free > 0 && need > free {
		return refuse("of memory", need, free, runner.NoMemory, "boxer ls --resources")
	}
	return nil
}

// noSpace makes a full disk something that a person can act on.
func (e *engine) noSpace(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return (&runner.Error{
		Reason: "the disk of " + e.env.Dir + " is full", Cause: runner.NoSpace, Fix: "boxer down && BOXER_TMP=/a/larger/disk boxer up",
	}).Because(err)
}
