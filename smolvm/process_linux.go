package smolvm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// identify names a process so that it can be told from a later one with its number.
func identify(pid int) (runner.Process, error) {
	start, over, err := statOf(pid)
	if err == nil && over {
		err = fmt.Errorf("process %d has ended", pid)
	}
	if err != nil {
		return runner.Process{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return runner.Process{PID: pid, Start: start, Boot: string(bytes.TrimSpace(boot))}, err
}

// statOf reads the start time, and whether it is only waiting to be taken out of the table.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func statOf(pid int) (start string, over bool, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')'):]), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return "", false, errors.New("a line of /proc that has another form")
	}
	return f[19], f[0] == "Z" || f[0] == "X", nil
}

func alive(p runner.Process) bool {
	now, err := identify(p.PID)
	return err == nil && now == p
}

// memoryOf tells what a process has in memory of its own, and of files that others may map too.
func memoryOf(pid int) runner.Usage {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return runner.Usage{}
	}
	var u runner.Usage
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "RssAnon:":
			u.Memory += kib << 10
		case "RssFile:", "RssShmem:": // a branch source's memory is a file that its children map
			u.Shared += kib << 10
		}
	}
	return u
}
