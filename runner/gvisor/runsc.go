//go:build linux

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// runsc starts this binary as gVisor's own program, in the keeper's namespaces.
type runsc struct {
	reaper *reap.Reaper
	exe    string   // this binary, at a path that outlives its replacement
	root   string   // where runsc keeps its state files and control sockets
	logs   string   // folder for what it prints
	flags  []string // the same for run and restore: gVisor demands it
}

// run runs one runsc command to its end. What the command starts detached gets in and out as the streams of its
// first process, and no other pipe of ours: it would hold it open for as long as the sandbox lives. An ended ctx
// kills the command.
func (r runsc) run(ctx context.Context, in, out *os.File, verb string, args ...string) error {
	log, err := os.CreateTemp(r.logs, verb+"-*.log")
	if err != nil {
		return err
	}
	defer func() { log.Close(); os.Remove(log.Name()) }()
	argv := append(append([]string{"runsc"}, r.flags...), verb)
	p, err := r.reaper.Start(r.exe, append(argv, args...), &syscall.ProcAttr{
		// gVisor's own heap is small and mostly filled while it starts: collecting half as often makes a fork an
		// eighth faster, and an idle child no larger.
		Env:   []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GOGC=200"},
		Files: []uintptr{in.Fd(), out.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start runsc %s: %w", verb, err)
	}
	status, err := p.Wait(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("runsc %s: %w", verb, err), p.SignalGroup(syscall.SIGKILL))
	}
	if status.ExitStatus() != 0 {
		return fmt.Errorf("runsc %s: %s (%s)", verb, lastLine(log.Name()), describe(status))
	}
	return nil
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}

func lastLine(file string) string {
	b, err := os.ReadFile(file)
	text := strings.TrimSpace(string(b))
	if err != nil || text == "" {
		return "it gave no reason"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// containerID is what runsc knows a sandbox by. All have one length, because runsc takes a prefix of an id for it.
func containerID(id int) string { return fmt.Sprintf("b%07d", id) }

// newRunsc lists the flags. overlay is "root" where only the root file system is copied on write, and "all" where
// the worktree must be too because the kernel's overlayfs cannot be had.
func newRunsc(reaper *reap.Reaper, dir, exe, root, overlay string) (runsc, error) {
	files := filepath.Join(dir, "overlay")
	logs := filepath.Join(dir, "logs")
	for _, d := range []string{files, logs} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return runsc{}, err
		}
	}
	return runsc{reaper: reaper, exe: exe, root: root, logs: logs, flags: []string{
		"--root=" + root, "--network=none", "--ignore-cgroups", "--overlay2=" + overlay + ":dir=" + files,
	}}, nil
}
