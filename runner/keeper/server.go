package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// server is a keeper at work: it takes calls, and ends.
type server struct {
	*book
	set    setup
	listen *net.UnixListener
	ctx    context.Context // of everything; its end is the keeper's
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	conns   map[*wire.Conn]bool
	serving sync.WaitGroup // one for each of conns
	endOnce sync.Once
	ended   chan struct{} // closed when nothing is left
	endErr  error         // set before ended is closed
}

const (
	helloTime = 10 * time.Second // for the other side's first words
	closeTime = 5 * time.Second  // for the engine's end; the kernel or the guard finishes what it leaves
	replyTime = time.Second      // for the last answers, when all is over
)

func newServer(set setup, newEngine func(Env) (Engine, error)) (*server, error) {
	l, err := listen(set.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	engine, err := newEngine(environmentOf(set))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &server{
		book: newBook(set, engine), set: set, listen: l, ctx: ctx, cancel: cancel,
		conns: map[*wire.Conn]bool{}, ended: make(chan struct{}),
	}, nil
}

func listen(path string) (*net.UnixListener, error) {
	addr, release, err := unixAddr(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, os.Chmod(path, 0o600)
}

// serve works until the end. The starter's connection is its lease from the first moment. Others are let in when the
// starter has written down which process the keeper is, so that nobody reads a record that does not tell it.
func (s *server) serve(starter *wire.Conn) error {
	l := s.open(s.ctx, s.set.Record.Owner.PID)
	s.attend(starter, func() {
		err := starter.Send(wire.KindStage, stage{Ready: true, Lease: l.id, Cleanup: cleanupOf(s.set.Rung)})
		var f *wire.Frame
		if err == nil {
			f, err = starter.Receive()
		}
		if err != nil || f.Kind != wire.KindStage {
			s.giveUp(l)
			return
		}
		go s.accept()
		s.hold(starter, l)
	})
	<-s.ended
	s.listen.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Unix().SetDeadline(time.Now().Add(replyTime))
	}
	s.mu.Unlock()
	s.serving.Wait()
	return s.endErr
}

func (s *server) accept() {
	for {
		c, err := s.listen.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor left: try again when calls have ended
			time.Sleep(10 * time.Millisecond)
			continue
		}
		conn := wire.New(c)
		if err := ours(c); err != nil {
			fmt.Fprintln(os.Stderr, "boxer-keeper:", err)
			conn.Close()
			continue
		}
		s.attend(conn, func() { s.talk(conn) })
	}
}

// attend runs do in a goroutine of its own, with conn among those that the end closes.
func (s *server) attend(conn *wire.Conn, do func()) {
	s.mu.Lock()
	s.conns[conn] = true
	s.serving.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.serving.Done()
		do()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		conn.Close()
	}()
}

// talk takes the one request of a connection. What it does before the protocols were compared must never change.
func (s *server) talk(conn *wire.Conn) {
	conn.Unix().SetReadDeadline(time.Now().Add(helloTime))
	f, err := conn.Receive()
	if err != nil {
		return
	}
	defer f.Close()
	var theirs wire.Hello
	if f.Kind != wire.KindHello || f.Decode(&theirs) != nil || conn.Send(wire.KindHello, hello()) != nil {
		return
	}
	next, err := conn.Receive()
	if err != nil {
		return
	}
	defer next.Close()
	conn.Unix().SetReadDeadline(time.Time{})
	switch {
	case next.Kind == wire.KindDown:
		s.end(errGone("the sandbox was taken down"))
		<-s.ended
		conn.Reply(nil, s.endErr)
	case next.Kind == wire.KindRequest && theirs.Protocol == wire.Protocol:
		s.request(conn, next)
	}
}

func (s *server) request(conn *wire.Conn, f *wire.Frame) {
	var r request
	if err := f.Decode(&r); err != nil {
		conn.Reply(nil, err)
		return
	}
	if r.Op == opLease {
		l := s.open(s.ctx, r.PID)
		if conn.Reply(leased{l.id, cleanupOf(s.set.Rung), os.Getpid()}, nil) != nil {
			s.giveUp(l)
			return
		}
		s.hold(conn, l)
		return
	}
	if r.Op == opTidy { // without a lease: who looks for what nobody holds must hold nothing himself
		s.tidyUp(conn, r.Tidy)
		return
	}
	l, err := s.begin(r.Lease)
	if err != nil {
		conn.Reply(nil, err)
		return
	}
	result, err := s.call(l, conn, f, r)
	l.calls.Done()
	conn.Reply(result, err)
	if r.Op == opPrepare && s.prep.failed() {
		s.end(errGone("preparing the sandbox failed"))
	}
}

// hold waits for the end of a lease: the client says so, or is gone.
func (s *server) hold(conn *wire.Conn, l *lease) {
	f, err := conn.Receive()
	if err != nil {
		s.giveUp(l)
		return
	}
	f.Close()
	ends, err := s.drop(l)
	if ends {
		s.end(errGone("its last user is gone"))
		<-s.ended
		err = errors.Join(err, s.endErr)
	}
	conn.Reply(closed{ends}, err)
}

// giveUp is for a lease whose holder is gone: nobody hears what goes wrong.
func (s *server) giveUp(l *lease) {
	ends, err := s.drop(l)
	if err != nil {
		fmt.Fprintln(os.Stderr, "boxer-keeper:", err)
	}
	if ends {
		s.end(errGone("its last user is gone"))
	}
}

var errLeft = errGone("the caller went away")

// call runs one request. Its context ends when the caller is gone or says no more, when its lease is dropped, and
// with the keeper.
func (s *server) call(l *lease, conn *wire.Conn, f *wire.Frame, r request) (any, error) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	defer cancel(nil)
	signals := make(chan os.Signal)
	go func() {
		for {
			f, err := conn.Receive()
			if err != nil {
				cancel(errLeft)
				return
			}
			var sig syscall.Signal
			if f.Decode(&sig) == nil && f.Kind == wire.KindSignal {
				select {
				case signals <- sig:
				case <-ctx.Done():
				}
			}
			f.Close()
		}
	}()
	return s.do(ctx, call{l: l, conn: conn, frame: f, signals: signals, request: r})
}

// call is one request under way.
type call struct {
	request
	l       *lease
	conn    *wire.Conn
	frame   *wire.Frame
	signals <-chan os.Signal
}

func (s *server) do(ctx context.Context, c call) (any, error) {
	switch c.Op {
	case opPrepare:
		return nil, s.prepare(ctx, c)
	case opExec:
		return s.exec(ctx, c)
	case opCollect:
		return s.collect(ctx, c)
	case opClear:
		id, done, err := s.use(ctx, c.l, c.Name)
		if err != nil {
			return nil, err
		}
		defer done()
		return nil, s.engine.Clear(ctx, id, *c.Pick)
	case opFreeze:
		return s.freeze(ctx, c.l, *c.Freeze)
	case opShare:
		return s.share(ctx, c.l)
	case opFork:
		return s.fork(ctx, c.l, c.Source)
	case opRelease:
		return nil, s.release(c.l, c.Source)
	case opList:
		return s.list(c.Usage), nil
	case opRemove:
		return nil, s.remove(c.Names)
	case opKeep:
		return nil, s.keep(c.Names)
	case opPack:
		return s.pack(ctx, c)
	default:
		return nil, fmt.Errorf("%q is no request", c.Op)
	}
}

func (s *server) exec(ctx context.Context, c call) (any, error) {
	cmd, closeFiles, err := c.Command.decode(c.frame)
	if err != nil {
		return nil, err
	}
	defer closeFiles()
	id, done, err := s.use(ctx, c.l, c.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.living(id, c.Name); err != nil {
		return nil, err
	}
	if id == Parent {
		if err := s.busy(); err != nil {
			return nil, err
		}
	}
	cmd.Signals = c.signals
	return s.engine.Exec(ctx, id, cmd)
}

func (s *server) collect(ctx context.Context, c call) (any, error) {
	w, done, err := c.pipe(ctx, "collect")
	if err != nil {
		return nil, err
	}
	defer done()
	id, leave, err := s.use(ctx, c.l, c.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	skipped, err := s.engine.Collect(ctx, id, *c.Pick, w)
	return collected{skipped}, err
}

// pipe takes the caller's end of a stream out of the frame. An end of ctx ends a read or a write that waits for the
// other side.
func (c call) pipe(ctx context.Context, name string) (f *os.File, done func(), err error) {
	fd, err := c.frame.TakeFD()
	if err != nil {
		return nil, nil, err
	}
	syscall.SetNonblock(fd, true) // or it could not be ended
	f = os.NewFile(uintptr(fd), name)
	stop := context.AfterFunc(ctx, func() { f.SetDeadline(time.Unix(1, 0)) })
	return f, func() { stop(); f.Close() }, nil
}

// prepare boots and prepares the parent for the first who asks; others wait for it.
func (s *server) prepare(ctx context.Context, c call) error {
	first, err := s.prep.claim(*c.Spec)
	if c.Packed > 0 && !first {
		return alreadyRunning().At(s.set.Scope)
	}
	if err != nil {
		return at(err, s.set.Scope)
	}
	if !first {
		return s.prep.wait(ctx)
	}
	tell := func(st runner.Step) {
		c.conn.Send(wire.KindStep, step{st.Kind, st.Name, st.Took, wire.EncodeError(st.Err)})
	}
	if c.Packed > 0 {
		err = s.bootPacked(ctx, c, tell)
	} else {
		err = s.boot(ctx, *c.Spec, tell)
	}
	s.prep.finish(err)
	return at(err, s.set.Scope)
}

func (s *server) boot(ctx context.Context, spec runner.Spec, tell func(runner.Step)) error {
	start := time.Now()
	m, err := s.engine.Boot(ctx, spec)
	tell(runner.Step{Kind: "boot", Took: time.Since(start), Err: err})
	if err != nil {
		return err
	}
	return runner.Prepare(ctx, m, spec, tell)
}

// end ends the keeper: it returns at once, and ended is closed when nothing is left.
func (s *server) end(why error) {
	s.endOnce.Do(func() {
		s.close()
		s.cancel(why)
		go func() {
			defer close(s.ended)
			ctx, cancel := context.WithTimeout(context.Background(), closeTime)
			defer cancel()
			closed := make(chan error, 1)
			go func() { closed <- s.engine.Close(ctx) }()
			select {
			case s.endErr = <-closed:
			case <-ctx.Done(): // it is not worth waiting for: everything is killed next
			}
			ctx, cancel = context.WithTimeout(context.Background(), sweepTime)
			defer cancel()
			s.endErr = errors.Join(s.endErr, sweep(ctx, s.set))
		}()
	})
}

// at fills the scope into an error that a person can act on.
func at(err error, scope runner.Scope) error {
	if e, ok := errors.AsType[*runner.Error](err); ok {
		e.At(scope)
	}
	return err
}
