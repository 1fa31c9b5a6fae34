//go:build !linux

package cmd

import (
	"runtime"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/smolvm"
)

// builtIn are the backends of this binary, in the order of doctor. gVisor is a Linux program.
func builtIn() []backend {
	return []backend{
		{kind: "gvisor", forks: true, packs: true, gone: &runner.Error{
			Reason: "gVisor runs on Linux only, and this is " + runtime.GOOS, Cause: runner.BackendUnavailable, Fix: "boxer doctor",
		}},
		{kind: host.Kind, open: func(d runner.Dirs) runner.Backend { return host.New(d) }},
		{kind: smolvm.Kind, forks: true, packs: true, open: func(d runner.Dirs) runner.Backend { return smolvm.New(d) }},
	}
}
