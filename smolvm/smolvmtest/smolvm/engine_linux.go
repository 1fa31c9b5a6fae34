//go:build linux && !cgo

package main

import (
	"os"
	"path/filepath"
	"strings"

	"gvisor.dev/gvisor/runsc/cli/maincli"
)

// engine is gVisor's runsc, when this process was started as that. It does not return then. With cgo it is left out:
// a dynamic binary cannot start itself again inside the sandbox, and a static one with cgo dies in the sentry's
// system call filter.
func engine(args []string) {
	if len(args) > 0 && (strings.HasPrefix(filepath.Base(args[0]), "runsc") || args[0] == "/proc/self/exe") {
		maincli.Main()
		os.Exit(0)
	}
}
