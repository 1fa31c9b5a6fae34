package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// often is how far apart the looks of watchWalk are: a walk over the processes of a job has ten seconds.
const often = time.Second

// watchWalk takes it for a SIGTERM to boxer when one reaches the processes in which a sandbox's programs run. GitLab cancels
// a job in a container by SIGTERM to one process after the other, the youngest first, and waits some seconds for each
// to go. Those do not: gVisor holds them, the signal stays pending, and the time is over before boxer has its turn.
// Nothing else sends them a signal that stays.
func (s *Signals) watchWalk(ctx context.Context, key string) {
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if walkReaches("/proc", key) {
				s.foretell(syscall.SIGTERM)
				return
			}
		}
	}
}

// walkReaches looks at the processes inside the sandboxes of a scope's keeper.
func walkReaches(proc, key string) bool {
	children := map[int][]int{}
	stats, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat"))
	if err != nil {
		return false
	}
	var keepers []int
	for _, name := range stats {
		pid, parent, ok := family(name)
		if !ok {
			continue
		}
		children[parent] = append(children[parent], pid)
		if line := commandLine(proc, pid); strings.HasPrefix(line, "boxer-keeper") && strings.Contains(line, "/"+key+".") {
			keepers = append(keepers, pid)
		}
	}
	return slices.ContainsFunc(keepers, func(pid int) bool { return reaches(proc, pid, children, false) })
}

func reaches(proc string, pid int, children map[int][]int, inside bool) bool {
	if inside && terminating(filepath.Join(proc, strconv.Itoa(pid), "status")) {
		return true
	}
	inside = inside || strings.HasPrefix(commandLine(proc, pid), "runsc-sandbox")
	return slices.ContainsFunc(children[pid], func(child int) bool { return reaches(proc, child, children, inside) })
}

func commandLine(proc string, pid int) string {
	b, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cmdline")) // "" where it has ended
	return string(b)
}

// family reads who a process and its parent are. The name between them may hold anything.
func family(stat string) (pid, parent int, ok bool) {
	b, err := os.ReadFile(stat)
	if err != nil {
		return 0, 0, false // it has ended
	}
	before, _, _ := strings.Cut(string(b), " ")
	after := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(after) < 2 {
		return 0, 0, false
	}
	pid, err = strconv.Atoi(before)
	if err != nil {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(after[1])
	return pid, parent, err == nil
}

// terminating says whether a SIGTERM waits for the process.
func terminating(status string) bool {
	b, err := os.ReadFile(status)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil && mask&(1<<(syscall.SIGTERM-1)) != 0 {
			return true
		}
	}
	return false
}
