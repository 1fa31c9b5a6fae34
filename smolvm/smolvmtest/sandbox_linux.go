package smolvmtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor"
)

func newBackend(dirs runner.Dirs) (backend, error) {
	if err := os.MkdirAll(dirs.State, 0o700); err != nil {
		return nil, err
	}
	return gvisor.New(dirs), dirs.Make()
}

// lifetime ends the process of a machine that a test forgot.
const lifetime = "7200"

// startProcess starts what stands for the hypervisor of one boot. It outlives this call. By the folder it stands in, it
// can be told whose it is.
func startProcess(dir string) (process, error) {
	cmd := exec.Command("sleep", lifetime)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	start, _, err := stat(cmd.Process.Pid)
	return process{cmd.Process.Pid, start}, err
}

// stat reads the start time and the state of a process.
func stat(pid int) (start string, state byte, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // its name is no number and has no parenthesis
	fields := strings.Fields(rest)
	const startTime = 19 // field 22 of the line
	if len(fields) <= startTime {
		return "", 0, errors.New("unreadable /proc/stat")
	}
	return fields[startTime], fields[0][0], nil
}

func (p process) alive() bool {
	start, state, err := stat(p.PID)
	return err == nil && p.PID > 0 && start == p.Start && state != 'Z' && state != 'X'
}

// kill ends the process and waits for that.
func (p process) kill() {
	for p.alive() {
		syscall.Kill(p.PID, syscall.SIGKILL) //nolint:errcheck // it may have ended by itself
		time.Sleep(time.Millisecond)
	}
}
