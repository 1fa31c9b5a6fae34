package reap

import "syscall"

// The numbers are the same on every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

// Kill kills the process that the line tells of, and nobody else.
func (s Stat) Kill() { s.signal(syscall.SIGKILL) }

// Stop stops it.
func (s Stat) Stop() { s.signal(syscall.SIGSTOP) }

// signal is sure of its target because a process cannot change behind an open pidfd: the line is compared with the
// table once more after the opening. Kernels before 5.3 have none; there the number is used right after it was compared.
func (s Stat) signal(sig syscall.Signal) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(s.PID), 0, 0)
	if errno == 0 {
		defer syscall.Close(int(fd))
	} else if errno != syscall.ENOSYS && errno != syscall.EPERM { // EPERM: a system call filter
		return
	}
	now, err := StatOf(s.PID)
	if err != nil || now.Start != s.Start || now.Over() {
		return
	}
	if errno != 0 {
		syscall.Kill(s.PID, sig)
		return
	}
	syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0)
}
