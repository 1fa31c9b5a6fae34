//go:build unix

package cmd

import (
	"os"
	"syscall"
)

// forwarded is what a command gets besides INT, TERM and HUP. The stop signals are left out: they stop boxer, and the
// command goes on as one started by a stopped shell script does.
var forwarded = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
