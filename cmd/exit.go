package cmd

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// The exit codes that commands other than shard give as well. Those of shard come from package shard.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitBroken        = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128
)

// exitTable is every exit code there is, as help prints it.
var exitTable = []struct{ code, means string }{
	{"0", "all passed"},
	{"1", "tests failed; of other commands: it did not work"},
	{"2", "bad command line or boxer.yaml; nothing was started"},
	{"4", "no test ran"},
	{"6", "the ledger does not close: tests or reports are missing or doubled"},
	{"124", "time limit"},
	{"125", "boxer or the backend failed (shard, run, merge)"},
	{"126", "the command cannot be executed in the child (shard, run)"},
	{"127", "the command was not found in the child (shard, run)"},
	{"129, 130, 143", "ended by SIGHUP, SIGINT or SIGTERM, after everything was removed"},
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes (run passes its command's own on):")
	for _, e := range exitTable {
		fmt.Fprintf(&b, "\n  %-14s %s", e.code, e.means)
	}
	return b.String()
}

// ended is how a command ended whose exit code is decided already. What there still is to tell is in err.
type ended struct {
	code int
	err  error
}

func (e ended) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOf is the exit code of an error that the named command returned.
func codeOf(err error, command string) int {
	var interrupted interface{ Signal() syscall.Signal }
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[ended](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[config.Faults](err); ok {
		return exitUsage
	}
	if errors.As(err, &interrupted) {
		return exitSignal + int(interrupted.Signal())
	}
	if command != "run" && command != "shard" {
		return exitFailed
	}
	switch runner.CauseOf(err) {
	case runner.CommandNotFound:
		return exitNotFound
	case runner.CommandNotExecutable:
		return exitNotExecutable
	}
	return exitBroken
}
