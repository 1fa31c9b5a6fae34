package reap

import "syscall"

// The numbers are the same on every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

// Kill kills the process that the line tells of, and nobody else: a process cannot change behind an open pidfd, so
// the line is compared with the table once more after the opening. Kernels before 5.3 have none; there the number is
// used right after it was compared.
func (s Stat) Kill() {
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
		syscall.Kill(s.PID, syscall.SIGKILL)
		return
	}
	syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
}
