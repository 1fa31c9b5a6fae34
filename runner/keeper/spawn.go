package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// spawned is a keeper that was just started.
type spawned struct {
	conn    *wire.Conn // the starter's lease
	lease   string
	cleanup string
	owner   runner.Process // the keeper, or its guard
}

// stageTime is how long a rung may take to hold or to fail.
const stageTime = 30 * time.Second

// errRung is a rung that did not hold.
type errRung struct {
	rung Rung
	err  error
}

func (e errRung) Error() string { return fmt.Sprintf("%s: %s", e.rung, e.err) }
func (e errRung) Unwrap() error { return e.err }

// spawn starts a keeper on the first rung that holds.
func (c Config) spawn(ctx context.Context, set setup) (*spawned, error) {
	var fell []error
	for _, r := range ladder(c.Bare, c.From) {
		set.Rung = r
		s, err := try(ctx, set)
		if err == nil {
			return s, nil
		}
		if _, ok := errors.AsType[errRung](err); !ok {
			return nil, err
		}
		fell = append(fell, err)
	}
	return nil, c.refusal(fell)
}

func (c Config) refusal(fell []error) error {
	var texts []string
	for _, err := range fell {
		texts = append(texts, err.Error())
	}
	err := errors.Join(fell...)
	return &runner.Error{
		Reason: fmt.Sprintf("this machine refuses what the %s backend needs: %s", c.Kind, strings.Join(texts, "; ")),
		Cause:  runner.BackendUnavailable,
		Fix:    missing(err),
	}
}

// try starts the keeper on one rung and waits until it is ready.
func try(ctx context.Context, set setup) (*spawned, error) {
	if err := set.write(); err != nil {
		return nil, err
	}
	mine, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	conn, err := wire.FromFile(mine)
	if err != nil {
		theirs.Close()
		return nil, err
	}
	owner, over, err := launch(set, theirs)
	theirs.Close()
	if err == nil {
		s := &spawned{conn: conn, owner: owner}
		if err = s.await(ctx, set); err == nil {
			return s, nil
		}
	}
	conn.Close() // which ends the keeper, were it to live
	if over != nil {
		select {
		case <-over:
		case <-time.After(sweepTime):
			end(owner)
		}
	}
	return nil, err
}

func socketpair() (mine, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "starter"), nil
}

// launch starts the keeper's process, or its guard's. over is closed when that has ended.
func launch(set setup, starter *os.File) (owner runner.Process, over <-chan struct{}, err error) {
	log, err := os.OpenFile(filepath.Join(set.Dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return owner, nil, err
	}
	defer log.Close()
	role, attr := roleGuard, &syscall.SysProcAttr{Setsid: true}
	if !guarded(set.Rung) {
		role = roleKeep
		if attr, err = attributes(set); err != nil {
			return owner, nil, errRung{set.Rung, err}
		}
	}
	cmd := &exec.Cmd{
		Path: set.exec, Args: argsOf(set, role), Env: environment(os.LookupEnv), Dir: "/",
		Stdout: log, Stderr: log, ExtraFiles: []*os.File{starter}, SysProcAttr: attr,
	}
	if err := cmd.Start(); err != nil {
		return owner, nil, errRung{set.Rung, err}
	}
	done := make(chan struct{})
	owner, err = identify(cmd.Process.Pid)
	go func() {
		defer close(done)
		cmd.Wait()
	}()
	return owner, done, err
}

func argsOf(set setup, role string) []string { return []string{program, set.Kind, role, set.Dir} }

// environment is a keeper's own; no command sees it. The tracking id lets a GitHub runner end what is left at a
// job's end, should all else have failed.
func environment(lookup func(string) (string, bool)) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "RUNNER_TEMP", "RUNNER_TRACKING_ID", "GORACE", "GOCOVERDIR", "GOTRACEBACK",
	} {
		if v, ok := lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// await reads what the keeper tells of its start.
func (s *spawned) await(ctx context.Context, set setup) error {
	ctx, cancel := context.WithTimeout(ctx, stageTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.conn.Unix().SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	f, err := s.conn.Receive()
	if ctx.Err() != nil {
		return fmt.Errorf("start a keeper: %w", context.Cause(ctx))
	}
	if err != nil {
		return &runner.Error{
			Reason: "the keeper of the sandbox died at its start", Cause: runner.BackendFailed, Output: logOf(set.Dir),
		}
	}
	defer f.Close()
	if f.Kind == wire.KindAnswer { // its engine refused
		var a wire.Answer
		return errors.Join(f.Decode(&a), a.Error.Decode())
	}
	var st stage
	if err := f.Decode(&st); err != nil {
		return err
	}
	if !st.Ready {
		return errRung{set.Rung, errors.New(st.Error)}
	}
	s.lease, s.cleanup = st.Lease, st.Cleanup
	return nil
}

func logOf(dir string) []string {
	b, _ := os.ReadFile(filepath.Join(dir, logFile))
	return runner.LastLines(b)
}
