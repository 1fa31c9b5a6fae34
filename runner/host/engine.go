package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

const (
	markName     = "BOXER_CHILD_MARK" // in the environment of every process of a child, with a value of the child's own
	defaultGrace = 2 * time.Second    // from SIGTERM to SIGKILL of a command whose Grace is not set
)

type engine struct {
	env   keeper.Env
	scope runner.Scope

	mu       sync.Mutex
	children map[keeper.ID]*child
}

// child is what is known of one child's processes.
type child struct {
	mark string
	over chan struct{} // closed when its removal begins: nothing starts in it any more

	mu       sync.Mutex
	sessions map[int]*reap.Proc // the leaders that were started, by their number, which is their session's
}

func newEngine(env keeper.Env) (keeper.Engine, error) {
	return &engine{env: env, scope: env.Scope, children: map[keeper.ID]*child{}}, nil
}

// Boot starts nothing: the machine runs already.
func (e *engine) Boot(_ context.Context, spec runner.Spec) (runner.Machine, error) {
	if len(spec.Mounts) > 0 {
		return nil, (&runner.Error{
			Reason: "the host backend cannot mount folders", Cause: runner.Unsupported, Fix: "boxer doctor",
		}).At(e.scope)
	}
	return machine{e}, nil
}

// machine is the parent.
type machine struct{ *engine }

func (m machine) Exec(ctx context.Context, c runner.Command) (runner.Exit, error) {
	return m.engine.Exec(ctx, keeper.Parent, c)
}

// Share makes a child: a mark that its processes will carry.
func (e *engine) Share(_ context.Context, id keeper.ID, _ runner.Child) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.children[id] = &child{mark: rand.Text(), over: make(chan struct{}), sessions: map[int]*reap.Proc{}}
	return nil
}

var errNoChild = errors.New("no such child")

// Exec runs a command in a session of its own, with the caller's files as they are.
func (e *engine) Exec(ctx context.Context, id keeper.ID, c runner.Command) (runner.Exit, error) {
	in, err := e.child(id)
	if err != nil {
		return runner.Exit{}, err
	}
	p, err := e.start(in, c)
	if err != nil {
		return runner.Exit{}, err
	}
	return e.attend(ctx, p, c, in)
}

// child finds a child; nil is the parent.
func (e *engine) child(id keeper.ID) (*child, error) {
	if id == keeper.Parent {
		return nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.children[id]
	if c == nil {
		return nil, errNoChild
	}
	return c, nil
}

// start starts a command's process as one of the child's. Both happen under one lock, so that a removal either finds
// the process or keeps it from starting.
func (e *engine) start(in *child, c runner.Command) (*reap.Proc, error) {
	prog, err := e.program(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if in == nil {
		return e.fork(prog, c)
	}
	select {
	case <-in.over:
		return nil, errNoChild
	default:
	}
	prog.env = append(prog.env, markName+"="+in.mark)
	p, err := e.fork(prog, c)
	if err == nil {
		in.note(p)
	}
	return p, err
}

// note remembers the session, and forgets those that are over by the same token: their leader is reaped and nobody
// else is in them.
func (c *child) note(p *reap.Proc) {
	const often = 64
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions)%often == often-1 {
		if all, err := reap.Processes(); err == nil {
			c.forget(all)
		}
	}
	c.sessions[p.Pid()] = p
}

func (e *engine) fork(prog program, c runner.Command) (*reap.Proc, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	fds := make([]uintptr, 3)
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			f = null
		}
		fds[i] = f.Fd()
	}
	p, err := e.env.Reaper.Start(prog.path, c.Args, &syscall.ProcAttr{
		Dir: prog.dir, Env: prog.env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true, Credential: prog.as},
	})
	if err != nil {
		return nil, e.cannotStart(c, prog, err)
	}
	return p, nil
}

// attend waits for a command's end, passes signals on and ends it when ctx does.
func (e *engine) attend(ctx context.Context, p *reap.Proc, c runner.Command, in *child) (runner.Exit, error) {
	var over <-chan struct{}
	if in != nil {
		over = in.over
	}
	for {
		select {
		case <-p.Done():
			status, err := p.Wait(context.Background())
			return exitOf(status), err
		case sig, open := <-c.Signals:
			if n, ok := sig.(syscall.Signal); ok {
				p.SignalGroup(n) // one that comes too late is of no interest
			} else if !open {
				c.Signals = nil
			}
		case <-ctx.Done():
			grace := c.Grace
			if grace == 0 {
				grace = defaultGrace
			}
			p.EndGroup(grace, over)
			status, err := p.Wait(context.Background())
			return exitOf(status), errors.Join(err, context.Cause(ctx))
		}
	}
}

func exitOf(s syscall.WaitStatus) runner.Exit {
	if s.Signaled() {
		return runner.Exit{Code: 128 + int(s.Signal()), Signal: s.Signal()}
	}
	return runner.Exit{Code: s.ExitStatus()}
}

// Serve starts a service of the parent.
func (m machine) Serve(_ context.Context, name string, c runner.Command) (runner.ServiceProcess, error) {
	dir := filepath.Join(m.env.Dir, "services")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, filepath.Base(name)+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.Stdin, c.Stdout, c.Stderr = nil, log, log
	p, err := m.start(nil, c)
	if err != nil {
		return nil, err
	}
	return service{p, log.Name()}, nil
}

type service struct {
	p   *reap.Proc
	log string
}

func (s service) Ended(context.Context) (runner.Exit, bool, error) {
	select {
	case <-s.p.Done():
		status, err := s.p.Wait(context.Background())
		return exitOf(status), true, err
	default:
		return runner.Exit{}, false, nil
	}
}

// Log reads the end of the service's output.
func (s service) Log(context.Context) ([]string, error) {
	f, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const enough = 8 << 10
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		f.Seek(max(0, size-enough), io.SeekStart)
	}
	b, err := io.ReadAll(io.LimitReader(f, enough))
	return runner.LastLines(b), err
}

// Collect takes files out of the worktree, which all children share.
func (e *engine) Collect(ctx context.Context, id keeper.ID, p runner.Pick, w io.Writer) ([]runner.Skipped, error) {
	root, err := e.worktree(id)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return files.Tar(ctx, root, e.scope.Worktree, p, w)
}

// Clear removes files in it.
func (e *engine) Clear(ctx context.Context, id keeper.ID, p runner.Pick) error {
	root, err := e.worktree(id)
	if err != nil {
		return err
	}
	defer root.Close()
	return files.Clear(ctx, root, e.scope.Worktree, p)
}

func (e *engine) worktree(id keeper.ID) (*os.Root, error) {
	if _, err := e.child(id); err != nil {
		return nil, err
	}
	return os.OpenRoot(e.scope.Worktree)
}

// Remove ends all processes of the children.
func (e *engine) Remove(ctx context.Context, ids []keeper.ID) error {
	var gone []*child
	e.mu.Lock()
	for _, id := range ids {
		c := e.children[id]
		if c == nil {
			continue
		}
		select {
		case <-c.over:
		default:
			close(c.over)
		}
		gone = append(gone, c)
	}
	e.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	if err := killAll(ctx, gone); err != nil {
		return fmt.Errorf("end the processes of a child: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		delete(e.children, id)
	}
	return nil
}

// Alive tells whether the child is there. It has no process of its own that could die.
func (e *engine) Alive(id keeper.ID) bool {
	_, err := e.child(id)
	return err == nil
}

// Usage is the memory of the child's processes. It has no disk of its own.
func (e *engine) Usage(id keeper.ID) (u runner.Usage, err error) {
	c, err := e.child(id)
	if err != nil || c == nil {
		return u, err
	}
	all, err := reap.Processes()
	if err != nil {
		return u, err
	}
	for _, s := range c.pick(all) {
		r := reap.ResidentOf(s.PID)
		u.Memory += r.Anon + r.Shmem
		u.Shared += r.Files
	}
	return u, nil
}

// Close ends the children; the keeper ends all else.
func (e *engine) Close(ctx context.Context) error {
	e.mu.Lock()
	var ids []keeper.ID
	for id := range e.children {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	return e.Remove(ctx, ids)
}
