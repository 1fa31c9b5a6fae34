package shard

import (
	"fmt"
	"syscall"
)

var signalNames = [...]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
}

// signalName is the name that reports and messages use; the standard library only has descriptions ("killed").
func signalName(s syscall.Signal) string {
	if s > 0 && int(s) < len(signalNames) && signalNames[s] != "" {
		return signalNames[s]
	}
	return fmt.Sprintf("signal %d", int(s))
}
