//go:build linux && !cgo

package main

import (
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// giveBack returns memory to the system in a sandbox that was started from a pack. gVisor reads all files of the pack
// into its heap before it puts them in their places, and Go would keep the room for as long as the sandbox is idle:
// twice the size of the pack, in what boxer takes for the size of the sandbox. Nobody tells when the reading is over,
// so it is tried at growing distances.
func giveBack(args []string) {
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--rootfs-upper-tar-fd=") }) {
		return
	}
	for wait := time.Second / 2; wait < time.Minute; wait *= 2 {
		time.Sleep(wait)
		debug.FreeOSMemory()
	}
}
