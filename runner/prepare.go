package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Step is one step of preparing a sandbox, told when it ended.
type Step struct {
	Kind string        // "boot", "init", "service", "setup"
	Name string        // the service's name or the setup line; "" for boot
	Took time.Duration // wall time
	Err  error         // nil if it went well
}

// Machine is a parent that is being prepared: what Prepare needs of a backend.
type Machine interface {
	// Exec is Session.Exec in the parent.
	Exec(ctx context.Context, c Command) (Exit, error)
	// Serve starts a service that lives on, without waiting for it: stdin is /dev/null, output goes to a log in the
	// sandbox.
	Serve(ctx context.Context, name string, c Command) (ServiceProcess, error)
}

// ServiceProcess is a started service.
type ServiceProcess interface {
	// Ended tells whether the process that Serve started is over, and how.
	Ended(ctx context.Context) (Exit, bool, error)
	// Log returns the last lines of its output.
	Log(ctx context.Context) ([]string, error)
}

const (
	serviceTimeout = 30 * time.Second
	setupTimeout   = 10 * time.Minute
	readyPoll      = 50 * time.Millisecond
)

// Prepare brings a booted machine to the spec: each service's init, the services, their readiness, then setup. The
// first step that fails ends it, with the step's last lines in the error. Each step is told to progress when it ended.
func Prepare(ctx context.Context, m Machine, spec Spec, progress func(Step)) error {
	p := preparation{m, spec, progress}
	running := make([]ServiceProcess, len(spec.Services))
	for i, s := range spec.Services {
		if s.Init != "" {
			if err := p.step(ctx, "init", s.Name, func(ctx context.Context) error { return p.initService(ctx, s) }); err != nil {
				return err
			}
		}
		proc, err := m.Serve(ctx, s.Name, p.shell(s.Run, s.User))
		if err != nil {
			return fmt.Errorf("start service %s: %w", s.Name, err)
		}
		running[i] = proc
	}
	for i, s := range spec.Services {
		if err := p.step(ctx, "service", s.Name, func(ctx context.Context) error { return p.waitReady(ctx, s, running[i]) }); err != nil {
			return err
		}
	}
	for _, s := range spec.Setup {
		if err := p.step(ctx, "setup", s.Run, func(ctx context.Context) error { return p.setup(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// Ready polls the ready line of every service once, as a probe of a fresh child does: the first that does not
// answer within its timeout is the error.
func Ready(ctx context.Context, m Execer, spec Spec) error {
	for _, s := range spec.Services {
		if s.Ready == "" {
			continue
		}
		p := preparation{spec: spec}
		if err := p.poll(ctx, m, s, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Execer runs a command in one sandbox.
type Execer interface {
	Exec(ctx context.Context, c Command) (Exit, error)
}

type preparation struct {
	m        Machine
	spec     Spec
	progress func(Step)
}

func (p preparation) step(ctx context.Context, kind, name string, do func(context.Context) error) error {
	start := time.Now()
	err := do(ctx)
	if p.progress != nil {
		p.progress(Step{Kind: kind, Name: name, Took: time.Since(start), Err: err})
	}
	return err
}

func (p preparation) initService(ctx context.Context, s Service) error {
	exit, tail, err := p.captured(ctx, p.m, p.shell(s.Init, s.User), or(s.Timeout, serviceTimeout))
	if err == nil && exit.Code == 0 {
		return nil
	}
	return p.failed(SetupFailed, fmt.Sprintf("the init of service %s failed%s", s.Name, how(exit, err)), tail, err)
}

func (p preparation) setup(ctx context.Context, s SetupStep) error {
	exit, tail, err := p.captured(ctx, p.m, p.shell(s.Run, s.User), or(s.Timeout, setupTimeout))
	if err == nil && exit.Code == 0 {
		return nil
	}
	return p.failed(SetupFailed, fmt.Sprintf("the setup command %q failed%s", s.Run, how(exit, err)), tail, err)
}

// waitReady waits until the service's ready line exits 0. A service whose process ended before that never gets
// ready, unless it ended with 0: then it put itself into the background, and only the ready line can tell.
func (p preparation) waitReady(ctx context.Context, s Service, proc ServiceProcess) error {
	alive := func() error {
		exit, over, err := proc.Ended(ctx)
		if err != nil || !over || exit.Code == 0 {
			return err
		}
		return &Error{Reason: fmt.Sprintf("service %s ended before it was ready%s", s.Name, how(exit, nil)), Cause: ServiceNotReady}
	}
	err := alive()
	if s.Ready != "" {
		err = p.poll(ctx, p.m, s, alive)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Cause == ServiceNotReady {
		log, logErr := proc.Log(ctx)
		if logErr != nil {
			return errors.Join(err, logErr)
		}
		e.Output = append(log, e.Output...)
		e.Fix = fixConfig
	}
	return err
}

func (p preparation) poll(ctx context.Context, m Execer, s Service, alive func() error) error {
	limit := or(s.Timeout, serviceTimeout)
	deadline := time.Now().Add(limit)
	var last []string // of the last try that said something: the one at the deadline may have had no time to
	for {
		exit, tail, err := p.captured(ctx, m, p.shell(s.Ready, s.User), time.Until(deadline))
		if len(tail) > 0 {
			last = tail
		}
		if err == nil && exit.Code == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err := alive(); err != nil {
			return err
		}
		if time.Now().Add(readyPoll).After(deadline) {
			return &Error{
				Reason: fmt.Sprintf("service %s was not ready after %s: %q%s", s.Name, limit, s.Ready, how(exit, nil)),
				Cause:  ServiceNotReady, Output: last,
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(readyPoll):
		}
	}
}

const fixConfig = "boxer doctor" // shows the configuration and where each value comes from

func (p preparation) failed(cause Cause, reason string, tail []string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Reason = reason + ": " + e.Reason
		return e
	}
	e := &Error{Reason: reason, Cause: cause, Fix: fixConfig, Output: tail}
	if err != nil {
		return e.Because(err)
	}
	return e
}

func how(exit Exit, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return " at its time limit"
	case err != nil:
		return ""
	case exit.Signal != 0:
		return fmt.Sprintf(" by signal %d (%s)", int(exit.Signal), exit.Signal)
	default:
		return fmt.Sprintf(" with exit code %d", exit.Code)
	}
}

func (p preparation) shell(line, user string) Command {
	return Command{Args: []string{"/bin/sh", "-c", line}, Dir: p.spec.Dir, Env: p.spec.Env, User: user}
}

// captured runs a command and keeps the last lines of what it wrote.
func (p preparation) captured(ctx context.Context, m Execer, c Command, limit time.Duration) (Exit, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tail, w, err := newTail()
	if err != nil {
		return Exit{}, nil, err
	}
	c.Stdout, c.Stderr = w, w
	exit, err := m.Exec(ctx, c)
	return exit, tail.lines(w), err
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
