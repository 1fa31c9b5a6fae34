//go:build !linux

package main

import (
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/smolvm"
)

// startedAgain runs what boxer was started as by itself, if it was.
func startedAgain(args []string) (code int, handled bool) {
	if code, handled = host.Main(args); handled {
		return code, true
	}
	return smolvm.Main(args)
}
