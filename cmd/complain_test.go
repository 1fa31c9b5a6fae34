package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	actionable := &runner.Error{Reason: "x", Cause: runner.NotRunning}
	for _, c := range []struct {
		name, command string
		err           error
		want          int
	}{
		{"nothing wrong", "up", nil, 0},
		{"a failure", "up", actionable, 1},
		{"a failure of shard", "shard", actionable, 125},
		{"a failure of run", "run", fmt.Errorf("wrapped: %w", actionable), 125},
		{"a mistake of ours", "ls", io.ErrUnexpectedEOF, 1},
		{"usage", "shard", config.Faults{{What: "x"}}, 2},
		{"not found", "run", &runner.Error{Cause: runner.CommandNotFound}, 127},
		{"not executable", "run", &runner.Error{Cause: runner.CommandNotExecutable}, 126},
		{"not found while starting", "up", &runner.Error{Cause: runner.CommandNotFound}, 1},
		{"the command's own code", "run", ended{42, nil}, 42},
		{"a decided code wins", "shard", ended{6, actionable}, 6},
		{"SIGINT", "up", Interrupted(syscall.SIGINT), 130},
		{"SIGTERM, and something failed then", "shard", errors.Join(Interrupted(syscall.SIGTERM), actionable), 143},
		{"SIGHUP", "fork", fmt.Errorf("wrapped: %w", Interrupted(syscall.SIGHUP)), 129},
	} {
		if got := codeOf(c.err, c.command); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestEveryExitCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"0", "1", "2", "4", "6", "124", "125", "126", "127", "129, 130, 143"} {
		if !strings.Contains(exitHelp(), "\n  "+code+" ") {
			t.Errorf("%s is not in\n%s", code, exitHelp())
		}
	}
}

func TestComplaints(t *testing.T) {
	t.Parallel()
	d := deps{call: &call{command: "fork rm", flags: map[string][]string{}}, Process: Process{Env: []string{"DB_PASSWORD=hush-hush"}}}
	e := &runner.Error{Reason: "it broke", Cause: "BROKEN", Fix: "mend it"}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"nothing", nil, ""},
		{"actionable", e, "boxer: it broke\n  cause:     BROKEN\n  fix:       mend it"},
		{"actionable, wrapped", fmt.Errorf("start child a: %w", e), "boxer: start child a: it broke\n  cause:     BROKEN\n  fix:       mend it"},
		{"two", errors.Join(e, e), "boxer: it broke\n  cause:     BROKEN\n  fix:       mend it\nboxer: it broke\n  cause:     BROKEN\n  fix:       mend it"},
		{"decided", ended{3, nil}, ""},
		{"decided, with more to tell", ended{3, e}, "boxer: it broke\n  cause:     BROKEN\n  fix:       mend it"},
		{"ours", io.ErrUnexpectedEOF, "boxer: unexpected EOF\n  this is a mistake in boxer itself: please report it, with what \"boxer version\" prints"},
		{"signal", Interrupted(syscall.SIGTERM), "boxer: interrupted by SIGTERM"},
		{"one fault", config.Faults{{Where: "--count", What: "is bad"}}, "boxer: --count: is bad\n  cause:     USAGE\n  fix:       boxer fork rm --help"},
		{"two faults", config.Faults{{What: "a"}, {What: "b"}}, "boxer: 2 things are wrong with this call, and nothing was started\n  cause:     USAGE\n  fix:       boxer fork rm --help\n  | a\n  | b"},
	} {
		if got := d.complaint(c.err); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	wrapped := *e
	if _ = d.complaint(fmt.Errorf("x: %w", e)); wrapped.Reason != e.Reason {
		t.Error("printing an error changes it")
	}
}

func TestFinishMasksSecrets(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := deps{
		ctx: t.Context(), call: &call{flags: map[string][]string{"env": {"API_KEY=given-value"}}},
		Process: Process{Err: w, Env: []string{"DB_PASSWORD=hush-hush"}},
	}
	code := d.finish(&runner.Error{Reason: "cannot log in with hush-hush and given-value"})
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || code != 1 || string(got) != "boxer: cannot log in with *** and ***\n" {
		t.Errorf("code %d, %q, %v", code, got, err)
	}
}

func TestInterruptionIsTheReason(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Interrupted(syscall.SIGINT))
	e := &runner.Error{Reason: "the keeper is gone"}
	for _, c := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{"only cancelled", fmt.Errorf("wait: %w", context.Canceled), 130, "boxer: interrupted by SIGINT"},
		{"the cause itself", fmt.Errorf("wait: %w", Interrupted(syscall.SIGINT)), 130, "boxer: interrupted by SIGINT"},
		{"something else too", e, 130, "boxer: interrupted by SIGINT\nboxer: the keeper is gone"},
		{"done in spite of it", nil, 0, ""},
		{"code decided", ended{7, nil}, 7, ""},
	} {
		err := interruption(ctx, c.err)
		if code := codeOf(err, "shard"); code != c.code {
			t.Errorf("%s: code %d, want %d", c.name, code, c.code)
		}
		if text := (deps{call: &call{}}).complaint(err); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	if err := interruption(t.Context(), e); err != error(e) {
		t.Errorf("without a signal: %v", err)
	}
}
