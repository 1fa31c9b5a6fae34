//go:build linux

package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// Usage adds up what the sandbox costs. Its programs' memory lies in files in memory that its sentry holds, whole,
// though the sentry maps only part of them. What its two processes map of this binary is there once for all
// sandboxes. On disk there are its overlay and what it wrote into a private worktree.
func (e *engine) Usage(id keeper.ID) (u runner.Usage, err error) {
	s, err := e.get(id)
	if err != nil {
		return u, err
	}
	for _, pid := range s.client.pids() {
		r := reap.ResidentOf(pid)
		u.Memory += r.Anon + nameless(pid, "/memfd:")
		u.Shared += r.Files
		u.Disk += nameless(pid, filepath.Join(e.env.Dir, "overlay")+"/")
	}
	if s.private && e.kernelOverlay {
		d, err := diskOf(e.mounts.upper(int(id)))
		if err != nil {
			return u, err
		}
		u.Disk += d
	}
	return u, nil
}

// nameless adds up the files that the process holds open though they have no name, or no more, and had one that began
// like this: gVisor's overlay files, and its files in memory. What cannot be looked at counts nothing.
func nameless(pid int, prefix string) int64 {
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(fds)
	if err != nil {
		return 0
	}
	var sum int64
	seen := map[uint64]bool{}
	for _, d := range entries {
		fd := filepath.Join(fds, d.Name())
		to, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(to, prefix) || !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		info, err := os.Stat(fd)
		if err != nil {
			continue
		}
		if st := info.Sys().(*syscall.Stat_t); !seen[st.Ino] {
			seen[st.Ino] = true
			sum += st.Blocks * 512
		}
	}
	return sum
}

func diskOf(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum, err
}

// checkpointReserve is what must stay free on the disk beside a checkpoint.
const checkpointReserve = 64 << 20

// roomFor refuses a fork for which the disk has no room: runsc fails without a word when it fills up. A checkpoint is
// about as large as the parent's memory.
func (e *engine) roomFor(parent runner.Usage) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(e.env.Dir, &fs); err != nil {
		return err
	}
	free, need := int64(fs.Bavail)*fs.Bsize, parent.Memory+parent.Disk+checkpointReserve
	if free >= need {
		return nil
	}
	return &runner.Error{
		Reason: fmt.Sprintf("a fork needs about %d MiB in %s, and %d MiB are free", need>>20, e.env.Dir, free>>20),
		Cause:  runner.NoSpace, Scope: e.scope.String(), Worktree: e.scope.Worktree,
		Fix: "BOXER_TMP=/a/larger/disk boxer ...",
	}
}
