package smolvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// book is the file in a scope's folder that tells who made what. Every change is made under a lock, and written by
// rename before the thing itself is made: so whoever comes after a crash finds the names of all there can be.
type book struct{ dir string }

// bookData is what the file holds.
type bookData struct {
	Spec     runner.Spec
	Phase    phase
	Preparer string // lease of who prepares it
	Lasting  bool   // it outlives its leases
	Made     bool   // its parent was created by whom the book belongs to
	Closing  bool   // it is being taken down: nothing may be made any more
	Boot     runner.Process
	Host     identity // of the parent, which a child must not keep
	Leases   map[string]*lease
	Children map[int]*child // by index
	Last     int            // number of the last child ever made
}

type phase string

const (
	preparing phase = "preparing"
	prepared  phase = "prepared"
	halted    phase = "halted" // it was stopped to be packed, and does not run again
)

// lease is one session's hold: what it made goes with it.
type lease struct {
	Owner runner.Process
	Since time.Time
}

// child is one child, from the moment its name is taken to the moment its removal has ended.
type child struct {
	Number   int // no two children of a book ever have the same
	Lease    string
	Lasting  bool
	Ready    bool // it was made and looked at
	Abort    bool // somebody removed it while it is being made
	Created  time.Time
	Worktree runner.Worktree
	Maker    runner.Process // the smolvm that makes it
	Remover  runner.Process // who removes it
}

// identity is how a machine calls itself.
type identity struct{ Hostname, MachineID string }

func (l *lease) live() bool { return l != nil && alive(l.Owner) }

// held tells whether anybody alive holds a lease.
func (k *bookData) held() bool {
	for _, l := range k.Leases {
		if l.live() {
			return true
		}
	}
	return false
}

const (
	bookFile = "book.json"
	lockFile = "lock" // of the book, held for moments
	wantFile = "want" // held by who counts lasting children to make those that are missing
)

var errNoBook = errors.New("the sandbox has no book any more")

// gone is the error for a sandbox that was taken down while it was used.
func gone(reason string) *runner.Error {
	return &runner.Error{Reason: reason, Cause: runner.Gone, Fix: "boxer ls"}
}

func (b book) create(k *bookData) error {
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	return b.write(k)
}

// update reads the book, lets change do its work and writes it. Without a book the cause is Gone.
func (b book) update(change func(*bookData) error) error {
	unlock, err := flock(filepath.Join(b.dir, lockFile), syscall.LOCK_EX)
	if errors.Is(err, fs.ErrNotExist) {
		return gone("the sandbox was taken down").Because(errNoBook)
	}
	if err != nil {
		return err
	}
	defer unlock()
	k, err := b.read()
	if err != nil {
		return err
	}
	if err := change(k); err != nil {
		return err
	}
	return b.write(k)
}

func (b book) read() (*bookData, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, bookFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone("the sandbox was taken down").Because(errNoBook)
	}
	if err != nil {
		return nil, err
	}
	k := &bookData{Leases: map[string]*lease{}, Children: map[int]*child{}}
	if err := json.Unmarshal(text, k); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(b.dir, bookFile), err)
	}
	return k, nil
}

func (b book) write(k *bookData) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	tmp := filepath.Join(b.dir, bookFile+".new")
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(b.dir, bookFile))
}

// flock takes the lock of a file, which the kernel releases when its holder dies. With LOCK_NB it does not wait.
func flock(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

const poll = 10 * time.Millisecond

// turn waits for the lock of a file until ctx ends.
func turn(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := flock(path, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unlock, err
		}
		if err := wait(ctx, poll); err != nil {
			return nil, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
