package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// record is one sandbox's record together with the folders it belongs to.
type record struct {
	runner.Record
	Dirs runner.Dirs `json:"dirs"`
}

func (r record) store() runner.Store { return runner.Store{Dir: r.Dirs.State} }

const (
	setupFile = "setup.json"
	logFile   = "keeper.log"
)

func (s setup) write() error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, setupFile), b, 0o600)
}

func readSetup(dir string) (s setup, err error) {
	b, err := os.ReadFile(filepath.Join(dir, setupFile))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// remove takes away what the sandbox has on disk; it must have ended. A record that names another folder is a newer
// sandbox's and stays.
func (r record) remove() error {
	err := removeTree(r.Dir)
	if e := os.Remove(r.Socket); e != nil && !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err // and keep the record, so that the next one finds what is left
	}
	now, err := r.store().Get(r.Scope.Key)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && now.Dir != r.Dir) {
		return nil
	}
	return r.store().Delete(r.Scope.Key)
}

// bury is remove for a keeper that did not end in order: what outlived it is ended first, for nothing would lead to it
// any more.
func (r record) bury(ctx context.Context) error {
	if err := endStrays(ctx, r.Dir); err != nil {
		return err
	}
	return r.remove()
}

// removeTree removes a keeper's folder. overlayfs leaves folders in it that nobody may enter. The setup file goes last:
// if this is cut off, it still tells whose the rest is.
func removeTree(dir string) error {
	if err := noMountBelow(dir); err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(dir)
	if err := empty(parent, name); err != nil {
		openUp(parent, name)
		if err := empty(parent, name); err != nil {
			return err
		}
	}
	return parent.RemoveAll(name)
}

// empty removes all of the folder but the setup file.
func empty(parent *os.Root, name string) error {
	if info, err := parent.Lstat(name); err != nil || !info.IsDir() {
		return nil // it is gone, or goes without having anything in it
	}
	f, err := parent.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	errs := []error{err}
	for _, n := range names {
		if n != setupFile {
			errs = append(errs, parent.RemoveAll(filepath.Join(name, n)))
		}
	}
	return errors.Join(errs...)
}

// openUp makes every folder of the tree one that can be emptied, as far as it can; what it cannot do shows when the
// tree is removed.
func openUp(parent *os.Root, name string) {
	info, err := parent.Lstat(name)
	if err != nil || !info.IsDir() {
		return
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		parent.Chmod(name, 0o700)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, n := range names {
		openUp(dir, n)
	}
}

// left says what of the sandbox is still on disk.
func (r record) left() error {
	var errs []error
	for _, path := range []string{r.Dir, r.Socket} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s is still there", path))
		}
	}
	return errors.Join(errs...)
}

const endPoll = 2 * time.Millisecond

// waitEnd waits until the process is gone.
func waitEnd(ctx context.Context, p runner.Process) error {
	for alive(p) {
		select {
		case <-time.After(endPoll):
		case <-ctx.Done():
			return fmt.Errorf("the keeper, process %d, has not ended: %w", p.PID, context.Cause(ctx))
		}
	}
	return nil
}

// Reclaim removes what a sandbox whose keeper is dead left on disk, and tells whether there was something. One that
// lives is left alone.
func Reclaim(ctx context.Context, dirs runner.Dirs, key string) (bool, error) {
	store := runner.Store{Dir: dirs.State}
	unlock, err := store.LockWithin(ctx, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	r, err := store.Get(key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || r.Socket == "" || alive(r.Owner) {
		return false, err
	}
	return true, record{r, dirs}.bury(ctx)
}

// unixAddr is the socket's address. A path that is too long for one is reached through a descriptor of its folder,
// where the system has those; release closes it.
func unixAddr(path string) (addr *net.UnixAddr, release func(), err error) {
	const longest = 103 // macOS; Linux takes 107
	if len(path) <= longest {
		return &net.UnixAddr{Name: path, Net: "unix"}, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return &net.UnixAddr{Name: short, Net: "unix"}, func() { dir.Close() }, nil
}
