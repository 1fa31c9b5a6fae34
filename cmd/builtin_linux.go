package cmd

import (
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor"
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/smolvm"
)

// builtIn are the backends of this binary, in the order of doctor.
func builtIn() []backend {
	return []backend{
		{kind: gvisor.Kind, forks: true, packs: true, open: func(d runner.Dirs) runner.Backend { return gvisor.New(d) }},
		{kind: host.Kind, open: func(d runner.Dirs) runner.Backend { return host.New(d) }},
		{kind: smolvm.Kind, forks: true, packs: true, open: func(d runner.Dirs) runner.Backend { return smolvm.New(d) }},
	}
}
