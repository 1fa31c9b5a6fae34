package keeper

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// Session is a runner.Session by way of a keeper. Backends whose engine can copy wrap it in a ForkSession, those
// that share in a ShareSession.
type Session struct {
	config  Config
	record  record
	lease   *wire.Conn
	id      string // of the lease
	cleanup string
	started bool

	closeOnce sync.Once
	closeErr  error
}

// ForkSession is a Session whose sandbox can be copied.
type ForkSession struct{ *Session }

// ShareSession is a Session whose sandbox takes commands side by side.
type ShareSession struct{ *Session }

// lateTime is how much longer than the command's grace a caller whose context ended waits for the keeper's last word.
const lateTime = 10 * time.Second

// dial connects, says what is asked, and waits for a lease's answer; other requests are left to their caller.
func (s *Session) dial(ctx context.Context, r request, fs ...*os.File) (*wire.Conn, *wire.Frame, error) {
	conn, theirs, err := connect(ctx, s.record)
	if err != nil {
		return nil, nil, err
	}
	if theirs.Protocol != wire.Protocol {
		conn.Close()
		return nil, nil, otherVersion(theirs).At(s.record.Scope)
	}
	r.Lease = s.id
	if err := conn.Send(wire.KindRequest, r, fs...); err != nil {
		conn.Close()
		return nil, nil, s.gone(err)
	}
	if r.Op != opLease {
		return conn, nil, nil
	}
	f, err := conn.Receive()
	if err != nil {
		conn.Close()
		return nil, nil, s.gone(err)
	}
	var l leased
	if err := decode(f, &l); err != nil {
		conn.Close()
		return nil, nil, err
	}
	s.id, s.cleanup = l.Lease, l.Cleanup
	return conn, f, nil
}

// gone is the error for a keeper that ended while in use, with its own last words.
func (s *Session) gone(err error) error {
	e := errGone("the sandbox ended while it was in use").At(s.record.Scope)
	e.Output = logOf(s.record.Dir)
	return e.Because(err)
}

// asked is one request and what goes on beside it.
type asked struct {
	request
	files   []*os.File
	signals <-chan os.Signal
	step    func(step)
	late    time.Duration // how long the answer may take after the end of the context; 0 is lateTime
}

// call does one request. When ctx ends the keeper is told, its answer is waited for, and the error is ctx's cause;
// what the answer brought is in into all the same.
func (s *Session) call(ctx context.Context, a asked, into any) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	conn, _, err := s.dial(ctx, a.request, a.files...)
	if err != nil {
		return err
	}
	defer conn.Close()
	done := make(chan error, 1)
	go func() { done <- s.answer(conn, a.step, into) }()
	for {
		select {
		case err := <-done:
			return err
		case sig, open := <-a.signals:
			if n, ok := sig.(syscall.Signal); ok {
				conn.Send(wire.KindSignal, n) // one that comes too late is of no interest
			} else if !open {
				a.signals = nil
			}
		case <-ctx.Done():
			conn.CloseWrite()
			conn.Unix().SetReadDeadline(time.Now().Add(max(a.late, lateTime)))
			<-done
			return context.Cause(ctx)
		}
	}
}

func (s *Session) answer(conn *wire.Conn, tell func(step), into any) error {
	for {
		f, err := conn.Receive()
		if err != nil {
			return s.gone(err)
		}
		if f.Kind == wire.KindAnswer {
			defer f.Close()
			return decode(f, into)
		}
		var st step
		if f.Kind == wire.KindStep && tell != nil && f.Decode(&st) == nil {
			tell(st)
		}
		f.Close()
	}
}

func (s *Session) prepare(ctx context.Context, spec runner.Spec, progress func(runner.Step)) error {
	return s.call(ctx, s.preparation(spec, progress), nil)
}

func (s *Session) preparation(spec runner.Spec, progress func(runner.Step)) asked {
	a := asked{request: request{Op: opPrepare, Spec: &spec}}
	if progress != nil {
		a.step = func(st step) {
			progress(runner.Step{Kind: st.Kind, Name: st.Name, Took: st.Took, Err: st.Err.Decode()})
		}
	}
	return a
}

// List returns the parent and then its children by index.
func (s *Session) List(ctx context.Context) ([]runner.Sandbox, error) {
	var all []runner.Sandbox
	err := s.call(ctx, asked{request: request{Op: opList}}, &all)
	return all, err
}

// Resources is List with the memory and disk of each.
func (s *Session) Resources(ctx context.Context) ([]runner.Sandbox, error) {
	var all []runner.Sandbox
	err := s.call(ctx, asked{request: request{Op: opList, Usage: true}}, &all)
	return all, err
}

// Exec runs a command, as runner.Session says.
func (s *Session) Exec(ctx context.Context, name string, c runner.Command) (runner.Exit, error) {
	var exit runner.Exit
	cmd, files := encodeCommand(c)
	err := s.call(ctx, asked{
		request: request{Op: opExec, Name: name, Command: cmd}, files: files, signals: c.Signals, late: c.Grace + lateTime,
	}, &exit)
	return exit, err
}

// Collect copies files out of the sandbox.
func (s *Session) Collect(ctx context.Context, name string, p runner.Pick, dest *os.Root) (runner.Collected, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return runner.Collected{}, err
	}
	defer r.Close()
	var names []string
	unpacked := make(chan error, 1)
	go func() {
		var err error
		names, err = files.Untar(r, dest, p.Limit)
		if err == nil {
			_, err = io.Copy(io.Discard, r) // the padding after the end
		}
		r.Close() // the writer must not wait for a reader that has failed
		unpacked <- err
	}()
	var answer collected
	callErr := s.send(ctx, request{Op: opCollect, Name: name, Pick: &p}, w, &answer)
	if err := <-unpacked; err != nil && callErr == nil {
		callErr = err
	}
	if callErr != nil {
		return runner.Collected{}, callErr
	}
	return whole(names, answer.Skipped, dest)
}

// send does a request that takes one file, which is the keeper's alone from then on: its end is the stream's end.
func (s *Session) send(ctx context.Context, r request, w *os.File, into any) error {
	conn, _, err := s.dial(ctx, r, w)
	w.Close()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() {
		conn.CloseWrite()
		conn.Unix().SetReadDeadline(time.Now().Add(lateTime))
	})()
	err = s.answer(conn, nil, into)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// whole removes files that the stream holds in part and the keeper took back.
func whole(names []string, skipped []runner.Skipped, dest *os.Root) (runner.Collected, error) {
	var errs []error
	for _, sk := range skipped {
		if i, found := slices.BinarySearch(names, sk.Path); found {
			names = slices.Delete(names, i, i+1)
			errs = append(errs, dest.Remove(sk.Path))
		}
	}
	return runner.Collected{Files: names, Skipped: skipped}, errors.Join(errs...)
}

// Clear removes files in the sandbox.
func (s *Session) Clear(ctx context.Context, name string, p runner.Pick) error {
	return s.call(ctx, asked{request: request{Op: opClear, Name: name, Pick: &p}}, nil)
}

// Remove ends and removes children.
func (s *Session) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return s.call(ctx, asked{request: request{Op: opRemove, Names: names}, late: removeTime}, nil)
}

// Keep makes the sandbox and the named children outlast the session.
func (s *Session) Keep(ctx context.Context, children ...string) error {
	return s.call(ctx, asked{request: request{Op: opKeep, Names: children}}, nil)
}

// Down ends the sandbox with all its children.
func (s *Session) Down(ctx context.Context) error {
	err := s.config.Down(ctx, s.record.Scope)
	s.closeOnce.Do(func() { s.closeErr = s.lease.Close() })
	return err
}

// Started tells whether this session started the sandbox.
func (s *Session) Started() bool { return s.started }

// Cleanup says what guarantees that nothing outlives boxer.
func (s *Session) Cleanup() string { return s.cleanup }

// Close gives up the lease: what this session made and did not keep is gone when it returns.
func (s *Session) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Session) close() error {
	defer s.lease.Close()
	s.lease.Unix().SetDeadline(time.Now().Add(removeTime + sweepTime))
	err := s.lease.Send(wire.KindRequest, request{Op: opClose})
	if err == nil {
		var f *wire.Frame
		if f, err = s.lease.Receive(); err == nil {
			defer f.Close()
			var answer closed
			err = decode(f, &answer)
			if !answer.Ends {
				return err
			}
			return errors.Join(err, s.reclaim())
		}
	}
	return s.reclaim() // no answer: the keeper is gone
}

// reclaim sees that nothing is left of a keeper that ended with the lease.
func (s *Session) reclaim() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	if err := waitEnd(ctx, s.record.Owner); err != nil {
		return err
	}
	if s.record.left() == nil {
		return nil
	}
	_, err := Reclaim(ctx, s.config.Dirs, s.record.Scope.Key)
	return err
}

// Freeze takes the parent's state of this moment as the source of forks.
func (f ForkSession) Freeze(ctx context.Context, o runner.ForkOptions) (runner.Source, error) {
	return f.source(ctx, request{Op: opFreeze, Freeze: &o})
}

// Share gives a source of places for commands side by side.
func (f ShareSession) Share(ctx context.Context) (runner.Source, error) {
	return f.source(ctx, request{Op: opShare})
}

func (s *Session) source(ctx context.Context, r request) (runner.Source, error) {
	var got frozen
	if err := s.call(ctx, asked{request: r}, &got); err != nil {
		return nil, err
	}
	return &remoteSource{s, got}, nil
}

// remoteSource is a source in the keeper.
type remoteSource struct {
	s *Session
	frozen
}

func (r *remoteSource) Have() []runner.Child { return r.frozen.Have }

func (r *remoteSource) Fork(ctx context.Context) (runner.Child, error) {
	var c runner.Child
	err := r.s.call(ctx, asked{request: request{Op: opFork, Source: r.frozen.Source}, late: removeTime}, &c)
	return c, err
}

func (r *remoteSource) Release(ctx context.Context) error {
	return r.s.call(ctx, asked{request: request{Op: opRelease, Source: r.frozen.Source}, late: removeTime}, nil)
}
