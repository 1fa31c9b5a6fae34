// Command boxer prepares a sandbox, forks it and runs one shard of the tests in each copy.
//
// Besides being what people type, the binary is started again by itself: as gVisor's runsc, as the keeper of a
// scope's sandboxes, and as the first process inside a sandbox. What it is to be is told by its name and arguments,
// and is looked at before anything else, since those starts must cost nothing and print nothing of boxer's.
package main

import (
	"context"
	"os"

	"github.com/boxer-ci/boxer/cmd"
)

func main() {
	if code, handled := startedAgain(os.Args); handled {
		os.Exit(code)
	}
	ctx, signals := cmd.Listen(context.Background(), os.Exit)
	os.Exit(cmd.Main(ctx, cmd.Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Signals: signals,
	}, os.Args[1:]))
}
