package shard

import (
	"syscall"
	"testing"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	all := func(states ...State) []State { return states }
	for _, tt := range []struct {
		name string
		f    facts
		want int
	}{
		{"all passed", facts{states: all(Passed, Passed)}, 0},
		{"a command failed", facts{states: all(Passed, Failed)}, 1},
		{"a case is bad", facts{states: all(Passed), failed: true}, 1},
		{"no test", facts{states: all(Passed), noTests: true}, 4},
		{"no test, but a command failed", facts{states: all(Passed, Failed), noTests: true}, 1},
		{"the ledger is open", facts{states: all(Passed), open: true}, 6},
		{"the ledger is open and a test failed", facts{states: all(Failed), open: true, failed: true}, 6},
		{"a time limit", facts{states: all(TimedOut, Passed)}, 124},
		{"a time limit, an open ledger, a failure", facts{states: all(TimedOut, Failed), open: true, failed: true}, 124},
		{"not found everywhere", facts{states: all(NotFound, NotFound), failed: true}, 127},
		{"not executable everywhere", facts{states: all(NotExecutable, NotExecutable), failed: true}, 126},
		{"either", facts{states: all(NotFound, NotExecutable), failed: true}, 126},
		{"not found in one shard", facts{states: all(NotFound, Passed), failed: true}, 1},
		{"not found in one, a time limit in the other", facts{states: all(NotFound, TimedOut), failed: true}, 124},
		{"lost", facts{states: all(Passed, Lost)}, 125},
		{"lost, and the others not found", facts{states: all(NotFound, Lost)}, 125},
		{"broken", facts{states: all(Passed), broken: true}, 125},
		{"broken and failed", facts{states: all(Failed), broken: true, failed: true}, 125},
		{"SIGINT", facts{states: all(Cancelled), signal: syscall.SIGINT}, 130},
		{"SIGHUP", facts{states: all(Cancelled), signal: syscall.SIGHUP}, 129},
		{"SIGTERM beats all", facts{states: all(Lost, TimedOut, Failed), signal: syscall.SIGTERM, broken: true, open: true, failed: true, noTests: true}, 143},
		{"stopped by the first failure", facts{states: all(Failed, Cancelled)}, 1},
		{"stopped without a signal", facts{states: all(Passed, Cancelled)}, 125},
	} {
		if got := exitCode(tt.f); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
