package main

import (
	"github.com/boxer-ci/boxer/runner/gvisor"
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/smolvm"
)

// startedAgain runs what boxer was started as by itself, if it was.
func startedAgain(args []string) (code int, handled bool) {
	if code, handled = gvisor.Main(args); handled {
		return code, true
	}
	if code, handled = host.Main(args); handled {
		return code, true
	}
	if code, handled = smolvm.Main(args); handled {
		return code, true
	}
	engine(args)
	return 0, false
}
