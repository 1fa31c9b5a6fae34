//go:build linux && cgo

package gvisor

import (
	"os"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// linked tells whether gVisor is part of this binary. With cgo it cannot be: a dynamic binary cannot start itself
// again inside the sandbox's chroot, and a static one dies in gVisor's system call filter.
func linked() error {
	return &runner.Error{
		Reason: "this boxer was built with cgo, and gVisor works only in a binary built without it",
		Cause:  runner.BackendUnavailable,
		Fix:    "CGO_ENABLED=0 go install github.com/boxer-ci/boxer/cmd/boxer@latest",
	}
}

// client is what a binary without gVisor has in its place, so that the rest compiles and can be tested: linked
// refuses before any is made.
type client struct{}

func connect(runsc, string) (*client, error)                { return nil, linked() }
func (*client) start(process) (int32, guest.Failure, error) { return 0, guest.Broken, linked() }
func (*client) wait(int32) (syscall.WaitStatus, error)      { return 0, linked() }
func (*client) signalGroup(syscall.Signal, int32) error     { return linked() }
func (*client) checkpoint(string) error                     { return linked() }
func (*client) pause() error                                { return linked() }
func (*client) resume() error                               { return linked() }
func (*client) tarUpper(*os.File) error                     { return linked() }
func (*client) lastPID() (int, error)                       { return 0, linked() }
func (*client) pids() []int                                 { return nil }
