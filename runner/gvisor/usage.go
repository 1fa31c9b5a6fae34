//go:build linux

package gvisor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// Usage adds up what only this sandbox costs: the proportional memory of its processes, and on disk its overlay and
// what it wrote into a private worktree.
func (e *engine) Usage(id keeper.ID) (memory, disk int64, err error) {
	s, err := e.get(id)
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range s.client.pids() {
		m, err := proportional(pid)
		if err != nil {
			return 0, 0, err
		}
		memory += m
		disk += unlinked(pid, filepath.Join(e.env.Dir, "overlay"))
	}
	if s.private && e.kernelOverlay {
		d, err := diskOf(e.mounts.upper(int(id)))
		if err != nil {
			return 0, 0, err
		}
		disk += d
	}
	return memory, disk, nil
}

// proportional is a process's share of the memory it uses, in bytes.
// https://docs.kernel.org/filesystems/proc.html (smaps_rollup)
func proportional(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d: no Pss in smaps_rollup", pid)
}

// unlinked adds up the files below dir that the process holds open though they have no name any more, as gVisor's
// overlay files are. What cannot be looked at counts nothing.
func unlinked(pid int, dir string) int64 {
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
		if err != nil || !contains(dir, strings.TrimSuffix(to, " (deleted)")) {
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
func (e *engine) roomFor(context.Context) error {
	memory, disk, err := e.Usage(keeper.Parent)
	if err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(e.env.Dir, &fs); err != nil {
		return err
	}
	free, need := int64(fs.Bavail)*fs.Bsize, memory+disk+checkpointReserve
	if free >= need {
		return nil
	}
	return &runner.Error{
		Reason: fmt.Sprintf("a fork needs about %d MiB in %s, and %d MiB are free", need>>20, e.env.Dir, free>>20),
		Cause:  runner.NoSpace, Scope: e.scope.String(), Worktree: e.scope.Worktree,
		Fix: "BOXER_TMP=/a/larger/disk boxer ...",
	}
}
