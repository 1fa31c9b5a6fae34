// Package smolvm turns runner.Backend calls into smolvm commands and back: a sandbox is a microVM, and a child is one
// branched from it copy-on-write.
//
// It owns the machines that carry its labels, and the scope's folder with the book of who made what. It may start the
// smolvm program and nothing else; it must never stop, change or delete a machine without its labels, and never a
// staged mount, which cannot be branched.
//
// The choice a reader would question: there is no daemon. smolvm keeps the machines, so each boxer process keeps its
// own lease in the book and does its own work; beside it a reaper, which outlives it, removes what it made when it
// dies without saying goodbye.
package smolvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Kind is the name people choose the backend by.
const Kind = "smolvm"

// Backend starts and finds sandboxes that are microVMs.
type Backend struct {
	Program string        // the smolvm to start; "" is the one on PATH
	Exe     string        // the binary that becomes the reaper; "" is this one
	Env     []string      // nil: this process's
	Limit   time.Duration // how long one call of smolvm may take; 0: as long as its work may
	dirs    runner.Dirs
}

// New makes the backend with its files below dirs.
func New(dirs runner.Dirs) *Backend { return &Backend{dirs: dirs} }

// Kind is "smolvm".
func (b *Backend) Kind() string { return Kind }

func (b *Backend) store() runner.Store { return runner.Store{Dir: b.dirs.State} }

func (b *Backend) program() program { return program{path: b.Program, env: b.Env, slow: b.Limit} }

// Attach connects to the scope's sandbox. Without one the cause is NotRunning.
func (b *Backend) Attach(ctx context.Context, scope runner.Scope) (runner.Session, error) {
	s, err := b.attach(ctx, scope)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *Backend) attach(_ context.Context, scope runner.Scope) (*Session, error) {
	r, err := b.store().Get(scope.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notRunning(scope)
	}
	if err != nil {
		return nil, err
	}
	if r.Backend != Kind {
		return nil, (&runner.Error{
			Reason: fmt.Sprintf("the sandbox of this scope was started with the %s backend, not with %s", r.Backend, Kind),
			Cause:  runner.ConfigChanged, Fix: "boxer down",
		}).At(scope)
	}
	s, err := b.session(r)
	if err != nil {
		return nil, err
	}
	err = s.book.update(func(k *bookData) error {
		if k.Closing || (!k.Lasting && !k.held()) {
			return notRunning(scope) // it is going, or what a crash left
		}
		return s.enter(k)
	})
	if runner.CauseOf(err) == runner.Gone {
		err = notRunning(scope)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func notRunning(scope runner.Scope) *runner.Error {
	return (&runner.Error{Reason: "this sandbox is not running", Cause: runner.NotRunning, Fix: "boxer up"}).At(scope)
}

// Down ends the scope's sandbox and removes what it has on disk, whoever uses it. One that is not there is no error.
func (b *Backend) Down(ctx context.Context, scope runner.Scope) error {
	unlock, err := b.store().LockWithin(ctx, scope.Key)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := b.store().Get(scope.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.takeDown(ctx, r)
}

// takeDown removes the machines and the files of a record. The caller holds the scope's lock.
func (b *Backend) takeDown(ctx context.Context, r runner.Record) error {
	if r.Backend != Kind {
		return fmt.Errorf("the sandbox of this scope was started with the %s backend", r.Backend)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	k := book{dir: r.Dir}
	made := false
	err := k.update(func(k *bookData) error { k.Closing, made = true, k.Made; return nil })
	if err != nil && runner.CauseOf(err) != runner.Gone {
		return err
	}
	if err := b.program().removeFamily(ctx, r.Scope.Key, b.stateID(), made); err != nil {
		return err // the record stays, so that the next one finds what is left
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	now, err := b.store().Get(r.Scope.Key)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && now.Dir != r.Dir) {
		return nil
	}
	return b.store().Delete(r.Scope.Key)
}

// Cleanup tells what guarantees that nothing outlives boxer, as runner.Session says.
func (b *Backend) Cleanup(context.Context) (string, error) { return supervised, nil }

// supervised: the reaper removes what a dead run made.
const supervised = "supervised"
