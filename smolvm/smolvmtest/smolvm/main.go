// Command smolvm is the stand-in for the program of that name: see package smolvmtest. Like boxer itself it is started
// again as gVisor's runsc, as a keeper and as the first process of a sandbox.
package main

import (
	"os"

	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

func main() {
	if code, handled := startedAgain(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(smolvmtest.Main(smolvmtest.Process{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}, os.Args[1:]))
}
