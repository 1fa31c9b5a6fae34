package shard

import (
	"context"
	"fmt"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Backends compare what they return with the cause of a context: one that cannot be compared would end boxer.
func TestCausesCanBeCompared(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{unitLimit{time.Second, 2, "a"}, timeLimit(1), failFast{1}, strangeSignal{1, syscall.SIGTERM}} {
		if !reflect.TypeOf(cause).Comparable() {
			t.Errorf("%T", cause)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	live := context.Background()
	cancelled, cancel := context.WithCancelCause(live)
	cancel(interrupted(syscall.SIGINT))
	late, stop := (&attempt{}).limited(live, Options{Timeout: time.Nanosecond})
	defer stop()
	<-late.Done()
	exit := func(code int, s syscall.Signal) runner.Exit { return runner.Exit{Code: code, Signal: s} }
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		exit    runner.Exit
		err     error
		state   State
		strange syscall.Signal
	}{
		{"passed", live, exit(0, 0), nil, Passed, 0},
		{"failed", live, exit(3, 0), nil, Failed, 0},
		{"crashed", live, exit(139, syscall.SIGSEGV), nil, Failed, 0},
		{"a shell's 143 is an exit code", live, exit(143, 0), nil, Failed, 0},
		{"somebody's SIGTERM", live, exit(143, syscall.SIGTERM), nil, Cancelled, syscall.SIGTERM},
		{"somebody's SIGKILL", live, exit(137, syscall.SIGKILL), nil, Cancelled, syscall.SIGKILL},
		{"our SIGTERM", cancelled, exit(143, syscall.SIGTERM), context.Cause(cancelled), Cancelled, 0},
		{"our SIGTERM, told without an error", cancelled, exit(143, syscall.SIGTERM), nil, Cancelled, 0},
		{"passed just before the end", cancelled, exit(0, 0), nil, Passed, 0},
		{"failed just before the end", late, exit(1, 0), nil, Failed, 0},
		{"a time limit", late, exit(143, syscall.SIGTERM), context.Cause(late), TimedOut, 0},
		{"a time limit that the command made a failure", late, exit(1, 0), context.Cause(late), TimedOut, 0},
		{"not found", live, exit(0, 0), &runner.Error{Cause: runner.CommandNotFound}, NotFound, 0},
		{"not executable", live, exit(0, 0), fmt.Errorf("x: %w", &runner.Error{Cause: runner.CommandNotExecutable}), NotExecutable, 0},
		{"the child is gone", live, exit(0, 0), &runner.Error{Cause: runner.Gone}, Lost, 0},
		{"the child is gone because we ended it", cancelled, exit(0, 0), &runner.Error{Cause: runner.Gone}, Cancelled, 0},
	} {
		a := attempt{exit: tt.exit}
		a.judge(tt.ctx, tt.err)
		if a.state != tt.state || a.strange != tt.strange {
			t.Errorf("%s: %s, strange %v, want %s, %v", tt.name, a.state, a.strange, tt.state, tt.strange)
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	a := attempt{number: 2, collected: collected{files: []string{"web/out/shot.png", "top.png"}}}
	find := a.artifact(Options{Base: "/w/app", Dir: "/w/app/web", Scope: runner.Scope{Worktree: "/w"}})
	for path, want := range map[string]string{
		"out/shot.png": "shard-2/web/out/shot.png", "web/out/shot.png": "shard-2/web/out/shot.png",
		"app/top.png": "shard-2/top.png", "/w/app/web/out/shot.png": "shard-2/web/out/shot.png", "./out/../out/shot.png": "shard-2/web/out/shot.png",
		"/etc/top.png": "", "../../etc/passwd": "", "nothing.png": "",
	} {
		if got := find(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
