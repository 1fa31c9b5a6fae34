package main

import "github.com/boxer-ci/boxer/runner/gvisor"

// startedAgain runs what the program was started as by itself, if it was.
func startedAgain(args []string) (code int, handled bool) {
	if code, handled = gvisor.Main(args); handled {
		return code, true
	}
	engine(args)
	return 0, false
}
