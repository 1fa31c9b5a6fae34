package smolvm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Session is one process's lease of a scope's sandbox.
type Session struct {
	backend *Backend
	record  runner.Record
	book    book
	guests  *guests
	id      string // of the lease
	self    runner.Process
	started bool
	reaper  reaper

	ctx    context.Context // of all its calls
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // grows only under mu, and not once closed

	branching chan struct{} // smolvm makes one child of a source at a time; waiting in line here can be called off
	wants     map[*source]func()

	closeOnce sync.Once
	closeErr  error
}

func (b *Backend) session(r runner.Record) (*Session, error) {
	self, err := identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	s := &Session{
		backend: b, record: r, book: book{r.Dir}, guests: newGuests(b.program()), id: rand.Text()[:12], self: self,
		branching: make(chan struct{}, 1), wants: map[*source]func(){},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.guests.watch = s.watch
	return s, nil
}

// enter puts the session's lease into the book.
func (s *Session) enter(k *bookData) error {
	k.Leases[s.id] = &lease{Owner: s.self, Since: time.Now()}
	return nil
}

func (s *Session) key() string { return s.record.Scope.Key }

// begin registers a call. Its context ends with the caller's and with the session.
func (s *Session) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, gone("the session is closed").At(s.record.Scope)
	}
	s.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return ctx, func() { stop(); cancel(nil); s.calls.Done() }, nil
}

// at fills the scope into an error that a person can act on.
func (s *Session) at(err error) error {
	if e, ok := errors.AsType[*runner.Error](err); ok {
		e.At(s.record.Scope)
	}
	return err
}

func (s *Session) unknown(name string) error {
	return (&runner.Error{
		Reason: fmt.Sprintf("there is no sandbox %q here", name), Cause: runner.UnknownScope, Fix: "boxer ls",
	}).At(s.record.Scope)
}

// find turns a name into a machine that can be used, and waits for one that is being made.
func (s *Session) find(ctx context.Context, name string) (machine string, err error) {
	index, isChild := s.record.Scope.ChildIndex(name)
	if name != "" && !s.record.Scope.Names(name) && !isChild {
		return "", s.unknown(name)
	}
	number := 0
	for {
		k, err := s.book.read()
		if err != nil {
			return "", s.at(err)
		}
		if !isChild {
			switch k.Phase {
			case prepared:
				return s.key(), nil
			case halted:
				return "", s.at(stopped())
			}
			if !k.Leases[k.Preparer].live() {
				return "", s.at(gone("preparing the sandbox failed, so it is being removed"))
			}
		} else {
			c := k.Children[index]
			if c == nil || c.Abort || c.Remover.PID != 0 || (number != 0 && c.Number != number) {
				return "", s.unknown(name)
			}
			if c.Ready {
				return s.record.Scope.Child(index).Key, nil
			}
			if !k.Leases[c.Lease].live() {
				return "", s.unknown(name)
			}
			number = c.Number
		}
		if err := wait(ctx, poll); err != nil {
			return "", err
		}
	}
}

// List returns the parent and then its children by index.
func (s *Session) List(ctx context.Context) ([]runner.Sandbox, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	k, err := s.book.read()
	if err != nil {
		return nil, s.at(err)
	}
	machines, err := s.guests.program.list(ctx)
	if err != nil {
		return nil, s.at(err)
	}
	lives := map[string]bool{}
	for _, m := range machines {
		lives[m.Name] = m.lives()
	}
	scope := s.record.Scope
	state := func(key string, ready bool) runner.State {
		switch {
		case !ready:
			return runner.Starting
		case !lives[key]:
			return runner.Dead
		}
		return runner.Running
	}
	all := []runner.Sandbox{{
		Key: scope.Key, Slug: scope.Slug, State: state(scope.Key, k.Phase != preparing), Backend: Kind,
		Worktree: scope.Worktree, Lasting: k.Lasting, Created: s.record.Created,
	}}
	for _, i := range indexes(k) {
		c, name := k.Children[i], scope.Child(i)
		all = append(all, runner.Sandbox{
			Key: name.Key, Slug: name.Slug, Parent: scope.Key, State: state(name.Key, c.Ready), Backend: Kind,
			Worktree: scope.Worktree, Lasting: c.Lasting, Created: c.Created,
		})
	}
	return all, nil
}

func indexes(k *bookData) []int {
	var all []int
	for i := range k.Children {
		all = append(all, i)
	}
	slices.Sort(all)
	return all
}

// Exec runs a command, as runner.Session says.
func (s *Session) Exec(ctx context.Context, name string, c runner.Command) (runner.Exit, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return runner.Exit{}, err
	}
	defer end()
	machine, err := s.find(ctx, name)
	if err != nil {
		return runner.Exit{}, err
	}
	if err := s.reaper.start(s); err != nil { // it ends the command, should this process die
		return runner.Exit{}, err
	}
	return s.exec(ctx, machine, name, c)
}

// exec runs a command in a machine. If it ended badly, that may be because the machine was taken away.
func (s *Session) exec(ctx context.Context, machine, name string, c runner.Command) (runner.Exit, error) {
	if c.Dir == "" {
		c.Dir = s.record.Scope.Worktree
	}
	exit, err := s.guests.exec(ctx, machine, c)
	if err == nil && exit.Code == 0 || ctx.Err() != nil && err == context.Cause(ctx) {
		return exit, err
	}
	k, readErr := s.book.read()
	if readErr != nil || k.Closing {
		return exit, s.at(gone("the sandbox was taken down while the command ran").Because(errNoBook))
	}
	if cause := runner.CauseOf(err); cause != runner.Gone && cause != runner.BackendFailed {
		return exit, s.at(err)
	}
	fix := "boxer down"
	if index, isChild := s.record.Scope.ChildIndex(name); isChild {
		fix = "boxer fork rm " + name
		if c := k.Children[index]; c == nil || c.Remover.PID != 0 {
			return exit, s.at(gone("the child was removed while the command ran"))
		}
	}
	m, ok, findErr := s.guests.program.find(context.WithoutCancel(ctx), machine)
	if findErr == nil && (!ok || !m.lives()) {
		return exit, runner.Died(fix).At(s.record.Scope)
	}
	return exit, s.at(err)
}

// Keep makes the sandbox and the named children outlast the session.
func (s *Session) Keep(ctx context.Context, children ...string) error {
	_, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.at(s.book.update(func(k *bookData) error {
		var keep []*child
		for _, name := range children {
			index, ok := s.record.Scope.ChildIndex(name)
			if !ok || k.Children[index] == nil {
				return s.unknown(name)
			}
			keep = append(keep, k.Children[index])
		}
		for _, c := range keep {
			c.Lasting = true
		}
		k.Lasting = true
		return nil
	}))
}

// Down ends the sandbox with all its children.
func (s *Session) Down(ctx context.Context) error {
	err := s.backend.Down(ctx, s.record.Scope)
	s.closeOnce.Do(func() { s.end() })
	return err
}

// Started tells whether this session started the sandbox.
func (s *Session) Started() bool { return s.started }

// Cleanup is "supervised": the reaper removes what this session made if its process dies.
func (s *Session) Cleanup() string { return supervised }

// Close gives up the lease: what this session made and did not keep is gone when it returns.
func (s *Session) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

// end ends all calls of the session and waits for them.
func (s *Session) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(gone("its session was closed").At(s.record.Scope))
	s.calls.Wait()
	s.reaper.goodbye()
}

func (s *Session) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(gone("its session was closed").At(s.record.Scope))
	s.calls.Wait()
	s.mu.Lock()
	for _, leave := range s.wants {
		leave()
	}
	s.mu.Unlock()
	err := s.drop(context.Background())
	if err == nil {
		s.reaper.goodbye() // else it tries what could not be removed once more
	}
	s.reaper.close()
	return err
}

// drop removes what the lease made and did not keep, and the whole sandbox with the last lease.
func (s *Session) drop(ctx context.Context) error {
	k, err := s.book.read()
	if runner.CauseOf(err) == runner.Gone {
		return nil
	}
	if err != nil {
		return err
	}
	if !k.Lasting && !others(k, s.id) {
		if over, err := s.dropLast(ctx); over {
			return err
		}
	}
	var meant []int
	for i, c := range k.Children {
		if c.Lease == s.id && !c.Lasting {
			meant = append(meant, i)
		}
	}
	err = s.removeChildren(ctx, meant)
	leaveErr := s.book.update(func(k *bookData) error { delete(k.Leases, s.id); return nil })
	if runner.CauseOf(leaveErr) != runner.Gone {
		err = errors.Join(err, leaveErr)
	}
	return err
}

// others tells whether anybody alive besides the lease holds one.
func others(k *bookData, id string) bool {
	for other, l := range k.Leases {
		if other != id && l.live() {
			return true
		}
	}
	return false
}

// dropLast takes the sandbox down if it still is nobody else's, under the scope's lock; over is false if it is.
func (s *Session) dropLast(ctx context.Context) (over bool, err error) {
	unlock, err := s.backend.store().LockWithin(ctx, s.key())
	if err != nil {
		return true, err
	}
	defer unlock()
	err = s.book.update(func(k *bookData) error {
		if k.Lasting || others(k, s.id) {
			return errHeld
		}
		k.Closing = true
		delete(k.Leases, s.id)
		return nil
	})
	switch {
	case errors.Is(err, errHeld):
		return false, nil
	case runner.CauseOf(err) == runner.Gone:
		return true, nil
	case err != nil:
		return true, err
	}
	err = s.backend.takeDown(ctx, s.record)
	if err != nil { // so that the reaper finds it
		s.book.update(s.enter) //nolint:errcheck // the first error is the one to tell
	}
	return true, err
}

var errHeld = errors.New("somebody else holds the sandbox")

// want is the path of the lock that who counts lasting children holds.
func (s *Session) want() string { return filepath.Join(s.record.Dir, wantFile) }
