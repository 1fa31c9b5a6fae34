package smolvm

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// parent is the machine that is being prepared.
type parent struct{ s *Session }

func (p parent) Exec(ctx context.Context, c runner.Command) (runner.Exit, error) {
	return p.s.exec(ctx, p.s.key(), "", c)
}

// Serve starts a service that lives on. It is detached from the smolvm that starts it, and a shell in the machine keeps
// it and notes how it ends; shell and service are in every child.
func (p parent) Serve(ctx context.Context, name string, c runner.Command) (runner.ServiceProcess, error) {
	if c.Dir == "" {
		c.Dir = p.s.record.Scope.Worktree
	}
	g, machine := p.s.guests, p.s.key()
	note, err := g.note(ctx, machine, environmentScript(c.Env, c.User))
	if err != nil {
		return nil, err
	}
	v := service{p.s, "service-" + name}
	if _, _, err := g.ask(ctx, machine, `rm -f `+guestDir+`/"$1".*`, v.note); err != nil {
		return nil, err
	}
	call := []string{"machine", "exec", "--name", machine, "-d"}
	if c.User != "" {
		call = append(call, "--user", c.User)
	}
	call = append(append(call, "--", "/bin/sh", "-c", serveScript, "boxer", v.note, note, c.Dir), c.Args...)
	_, err = g.program.do(ctx, call...)
	return v, err
}

// service is one that was started.
type service struct {
	s    *Session
	note string
}

// Ended asks for the note of its end, or of why it could not start.
func (v service) Ended(ctx context.Context) (runner.Exit, bool, error) {
	out, _, err := v.s.guests.ask(ctx, v.s.key(), `cd `+guestDir+` && cat "$1.rc" "$1.end" 2>/dev/null`, v.note)
	if err != nil {
		return runner.Exit{}, false, err
	}
	end := strings.TrimSpace(out)
	if end == "" {
		return runner.Exit{}, false, nil
	}
	code, err := strconv.Atoi(end)
	if err != nil {
		return runner.Exit{}, true, fmt.Errorf("start the service: %w", execution{c: runner.Command{Args: []string{"/bin/sh"}}}.refusal(end))
	}
	return exitOf(code), true, nil
}

// Log returns the last lines of its output.
func (v service) Log(ctx context.Context) ([]string, error) {
	out, _, err := v.s.guests.ask(ctx, v.s.key(), `tail -n 20 `+guestDir+`/"$1.log" 2>/dev/null`, v.note)
	return runner.LastLines([]byte(out)), err
}
