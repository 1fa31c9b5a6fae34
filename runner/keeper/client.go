package keeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// Config is how a backend starts and finds its keepers.
type Config struct {
	Kind string // of the engine; Main of this binary must know it
	Dirs runner.Dirs
	Exe  string // the binary to start as a keeper; "" is this one
	Bare bool   // the engine needs no mounts, and commands must keep their uid: it may stand on any rung
	From Rung   // where to start on the ladder, for tests; 0 is the top
}

func (c Config) store() runner.Store { return runner.Store{Dir: c.Dirs.State} }

// Attach connects to the scope's keeper; without one the error's cause is NotRunning.
func (c Config) Attach(ctx context.Context, scope runner.Scope) (*Session, error) {
	r, err := c.store().Get(scope.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.notRunning(scope)
	}
	if err != nil {
		return nil, err
	}
	return c.attach(ctx, record{r, c.Dirs})
}

func (c Config) notRunning(scope runner.Scope) *runner.Error {
	return (&runner.Error{Reason: "this sandbox is not running", Cause: runner.NotRunning, Fix: "boxer up"}).At(scope)
}

func (c Config) attach(ctx context.Context, r record) (*Session, error) {
	if r.Backend != c.Kind {
		return nil, (&runner.Error{
			Reason: fmt.Sprintf("the sandbox of this scope was started with the %s backend, not with %s", r.Backend, c.Kind),
			Cause:  runner.ConfigChanged, Fix: "boxer down",
		}).At(r.Scope)
	}
	s := &Session{config: c, record: r}
	conn, f, err := s.dial(ctx, request{Op: opLease, PID: os.Getpid()})
	if err != nil {
		return nil, err
	}
	f.Close()
	s.lease = conn
	if now, err := c.store().Get(r.Scope.Key); err == nil && now.Dir == r.Dir {
		s.record.Record = now // it may have been read before the keeper stood in it
	}
	return s, nil
}

// Start attaches to the scope's keeper or starts one, and sees that its parent is prepared.
func (c Config) Start(ctx context.Context, scope runner.Scope, spec runner.Spec, progress func(runner.Step)) (*Session, error) {
	const tries = 5
	for try := 1; ; try++ {
		s, err := c.reach(ctx, scope)
		if err != nil {
			return nil, at(err, scope)
		}
		if err = s.prepare(ctx, spec, progress); err == nil {
			return s, nil
		}
		err = errors.Join(at(err, scope), s.Close())
		cause := runner.CauseOf(err)
		if cause != runner.Gone && cause != runner.NotRunning || s.started || try == tries {
			return nil, err
		}
		// It was another's, who failed to prepare it or left meanwhile: it may have given us a lease and be gone before
		// the next call. It ends, and ours comes after it.
		if err := waitEnd(ctx, s.record.Owner); err != nil {
			return nil, err
		}
	}
}

// reach attaches, or starts a keeper where none lives.
func (c Config) reach(ctx context.Context, scope runner.Scope) (*Session, error) {
	if err := c.Dirs.Make(); err != nil {
		return nil, err
	}
	unlock, err := c.store().LockWithin(ctx, scope.Key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := c.store().Get(scope.Key)
	if err == nil {
		s, err := c.replace(ctx, record{r, c.Dirs})
		if s != nil || err != nil {
			return s, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return c.create(ctx, scope)
}

// replace attaches to the keeper of the record. Where it is dead, or dying, what it left is removed.
func (c Config) replace(ctx context.Context, r record) (*Session, error) {
	if alive(r.Owner) || r.Socket == "" {
		s, err := c.attach(ctx, r)
		if cause := runner.CauseOf(err); cause != runner.NotRunning && cause != runner.Gone {
			return s, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, sweepTime+closeTime, err)
		defer cancel()
		if err := waitEnd(ctx, r.Owner); err != nil {
			return nil, (&runner.Error{
				Reason: "the keeper of this sandbox does not answer", Cause: runner.BackendFailed, Fix: "boxer down",
			}).At(r.Scope).Because(err)
		}
	}
	return nil, r.bury(ctx)
}

// create starts a keeper. The caller holds the scope's lock.
func (c Config) create(ctx context.Context, scope runner.Scope) (*Session, error) {
	set, err := c.setup(scope)
	if err != nil {
		return nil, err
	}
	var undo runner.Undo
	undo.Push("remove what was prepared", func(context.Context) error { return set.remove() })
	err = set.store().Put(set.Record)
	if err == nil {
		err = os.Mkdir(set.Dir, 0o700)
	}
	if err != nil {
		return nil, errors.Join(err, undo.Run(ctx, sweepTime))
	}
	s, err := c.spawn(ctx, set)
	if err != nil {
		return nil, errors.Join(err, undo.Run(ctx, sweepTime))
	}
	set.Owner = s.owner
	session := &Session{
		config: c, record: set.record, lease: s.conn, id: s.lease, cleanup: s.cleanup, started: true,
	}
	err = set.store().Put(set.Record)
	if err == nil {
		err = s.conn.Send(wire.KindStage, stage{Ready: true})
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

// setup is all that a new keeper will be told. Its folder is made once the record names it.
func (c Config) setup(scope runner.Scope) (setup, error) {
	self, err := identify(os.Getpid())
	if err != nil {
		return setup{}, err
	}
	set := setup{Kind: c.Kind, Bare: c.Bare, Exe: c.Exe, exec: c.Exe, UID: os.Getuid(), GID: os.Getgid()}
	if c.Exe == "" {
		if set.Exe, err = os.Executable(); err != nil {
			return setup{}, err
		}
		set.exec = set.Exe
		if runtime.GOOS == "linux" {
			set.exec = "/proc/self/exe" // works for a binary that `go run` has deleted
		}
	}
	// Both names are this keeper's alone: one that a dead starter left may be about to remove its own just now.
	name := scope.Key + "." + strings.ToLower(rand.Text()[:6])
	set.record = record{Dirs: c.Dirs, Record: runner.Record{
		Scope: scope, Backend: c.Kind, Dir: filepath.Join(c.Dirs.Temp, name),
		Socket: filepath.Join(c.Dirs.Runtime, name+socketSuffix), Owner: self, Created: time.Now(),
	}}
	return set, nil
}

// probeKey stands for a scope's key in the name of a probe's folder.
const probeKey = "probe"

// Probe finds out, by doing, whether a keeper can be started here, and what would guarantee its cleanup.
func (c Config) Probe(ctx context.Context) (cleanup string, err error) {
	if err := c.Dirs.Make(); err != nil {
		return "", err
	}
	set, err := c.setup(runner.Scope{Key: probeKey})
	if err != nil {
		return "", err
	}
	set.Probe = true
	if err := os.Mkdir(set.Dir, 0o700); err != nil {
		return "", err
	}
	s, err := c.spawn(ctx, set)
	if err == nil {
		cleanup = s.cleanup
		s.conn.Close()
		err = waitEnd(ctx, s.owner)
	}
	return cleanup, errors.Join(err, removeTree(set.Dir))
}

// Down ends the scope's sandbox, whichever version or backend of boxer started it, and removes what it has on disk.
// One that is not there is no error.
func (c Config) Down(ctx context.Context, scope runner.Scope) error {
	unlock, err := c.store().LockWithin(ctx, scope.Key)
	if err != nil {
		return err
	}
	defer unlock()
	got, err := c.store().Get(scope.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r := record{got, c.Dirs}
	if r.Socket == "" {
		return fmt.Errorf("the sandbox of this scope has no keeper: it was started with the %s backend", r.Backend)
	}
	downErr := askDown(ctx, r)
	return errors.Join(downErr, r.finish(ctx))
}

// askDown tells the keeper to end and waits for its word. One that is gone, or does not answer, is no error: its end
// is seen to next.
func askDown(ctx context.Context, r record) error {
	conn, _, err := connect(ctx, r)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if err := conn.Send(wire.KindDown, nil); err != nil {
		return nil
	}
	conn.Unix().SetReadDeadline(time.Now().Add(closeTime + sweepTime))
	defer context.AfterFunc(ctx, func() { conn.Unix().SetReadDeadline(time.Unix(1, 0)) })()
	f, err := conn.Receive()
	if err != nil {
		return nil
	}
	defer f.Close()
	var a wire.Answer
	if err := f.Decode(&a); err != nil {
		return nil // another version's answer; what it left will show
	}
	return a.Error.Decode()
}

// finish sees that a keeper that was told to end is gone with all it had. One that does not end is killed.
func (r record) finish(ctx context.Context) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if waitEnd(wait, r.Owner) != nil {
		end(r.Owner)
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
		defer cancel()
		if err := waitEnd(wait, r.Owner); err != nil {
			return err
		}
		if err := endStrays(context.WithoutCancel(ctx), r.Dir); err != nil {
			return err
		}
	}
	return errors.Join(r.remove(), r.left())
}

// connect reaches the keeper and exchanges the first words; what it says of itself is returned.
func connect(ctx context.Context, r record) (*wire.Conn, wire.Hello, error) {
	var theirs wire.Hello
	gone := (&runner.Error{Reason: "this sandbox is not running", Cause: runner.NotRunning, Fix: "boxer up"}).At(r.Scope)
	addr, release, err := unixAddr(r.Socket)
	if err != nil {
		return nil, theirs, gone.Because(err)
	}
	defer release()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", addr.Name)
	for errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil { // its backlog is full
		time.Sleep(time.Millisecond)
		c, err = d.DialContext(ctx, "unix", addr.Name)
	}
	if ctx.Err() != nil {
		return nil, theirs, context.Cause(ctx)
	}
	if err != nil {
		return nil, theirs, gone.Because(err)
	}
	conn := wire.New(c.(*net.UnixConn))
	conn.Unix().SetDeadline(time.Now().Add(helloTime))
	err = conn.Send(wire.KindHello, hello())
	var f *wire.Frame
	if err == nil {
		f, err = conn.Receive()
	}
	if err == nil {
		defer f.Close()
		err = f.Decode(&theirs)
	}
	if err != nil {
		conn.Close()
		return nil, theirs, errGone("the keeper of this sandbox does not answer").At(r.Scope).Because(err)
	}
	conn.Unix().SetDeadline(time.Time{})
	return conn, theirs, nil
}

// decode reads an answer: what it brought, and the error it tells.
func decode(f *wire.Frame, into any) error {
	var a wire.Answer
	if err := f.Decode(&a); err != nil {
		return err
	}
	return a.Read(into)
}
