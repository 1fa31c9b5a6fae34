package shard

import "syscall"

// The exit codes that are no test result.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitNoTests       = 4
	exitOpenLedger    = 6
	exitTimedOut      = 124
	exitBroken        = 125 // boxer or the backend failed
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal
)

// facts are what the exit code of a run is made from.
type facts struct {
	signal  syscall.Signal // that ended the run
	broken  bool           // something but the tests went wrong: a child, the teardown, writing the report
	states  []State        // of all shards
	open    bool           // the ledger does not close
	failed  bool           // a test or a command failed
	noTests bool
}

// exitCode decides among what holds: what says less about the tests wins, since it makes the rest doubtful.
func exitCode(f facts) int {
	switch {
	case f.signal != 0:
		return exitSignal + int(f.signal)
	case f.broken || f.some(Lost):
		return exitBroken
	case f.all(NotFound):
		return exitNotFound
	case f.all(NotFound, NotExecutable):
		return exitNotExecutable
	case f.some(TimedOut):
		return exitTimedOut
	case f.open:
		return exitOpenLedger
	case f.failed || f.some(Failed) || f.some(NotFound) || f.some(NotExecutable):
		return exitFailed
	case f.noTests:
		return exitNoTests
	case f.some(Cancelled):
		return exitBroken // ended, but not by a signal, and no shard failed
	}
	return 0
}

func (f facts) some(s State) bool {
	for _, is := range f.states {
		if is == s {
			return true
		}
	}
	return false
}

func (f facts) all(may ...State) bool {
	for _, is := range f.states {
		if is != may[0] && is != may[len(may)-1] {
			return false
		}
	}
	return len(f.states) > 0
}
