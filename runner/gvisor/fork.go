//go:build linux

package gvisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// image is a checkpoint of the parent.
type image struct {
	dir      string
	worktree runner.Worktree // what its children get
	memory   int64           // bytes that each child will need
}

// Freeze checkpoints the running parent, which goes on at once.
func (e *engine) Freeze(ctx context.Context, w runner.Worktree) (keeper.Image, error) {
	parent, err := e.get(keeper.Parent)
	if err != nil {
		return nil, err
	}
	if w == runner.Private && !e.kernelOverlay && !parent.private {
		return nil, &runner.Error{
			Reason: "the kernel cannot mount an overlay over the worktree where boxer's files are, so a sandbox that has the real worktree cannot have children with their own",
			Cause:  "NO_OVERLAY", Scope: e.scope.String(), Worktree: e.scope.Worktree, Fix: "boxer down",
		}
	}
	cost, err := e.Usage(keeper.Parent)
	if err != nil {
		return nil, err
	}
	if err := e.roomFor(cost); err != nil {
		return nil, err
	}
	img := e.newImage(w, cost.Memory)
	if err := os.MkdirAll(img.dir, 0o700); err != nil {
		return nil, errors.Join(err, e.Release(ctx, img))
	}
	saved := make(chan error, 1)
	go func() {
		e.still.Lock()
		defer e.still.Unlock()
		saved <- parent.client.checkpoint(img.dir)
	}()
	select {
	case err = <-saved:
	case <-ctx.Done():
		err = context.Cause(ctx)
		go func() { <-saved; os.RemoveAll(img.dir) }() // gVisor does not break off
	}
	if err != nil {
		e.Release(ctx, img) //nolint:errcheck // the first error is the one to tell, and what is left is a stray
		return nil, fmt.Errorf("checkpoint the sandbox: %w", err)
	}
	return img, nil
}

// newImage gives an image its place, before there is anything in it.
func (e *engine) newImage(w runner.Worktree, memory int64) image {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.images++
	img := image{e.mounts.image(e.images), w, memory}
	e.kept[img.dir] = true
	return img
}

// Release removes the image. What cannot be removed is a stray from then on.
func (e *engine) Release(_ context.Context, i keeper.Image) error {
	dir := i.(image).dir
	err := os.RemoveAll(dir)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.kept, dir)
	return err
}

// Strays lists what lies among the images and belongs to none that is kept. The folder is read before the books are:
// a place is in the books before there is a folder.
func (e *engine) Strays() ([]string, error) {
	dir := filepath.Join(e.env.Dir, imagesDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); !e.kept[path] {
			out = append(out, path)
		}
	}
	return out, err
}

// Fork restores a child and looks whether it is whole; one that is not is removed and restored once more.
func (e *engine) Fork(ctx context.Context, i keeper.Image, id keeper.ID, child runner.Child) error {
	img := i.(image)
	leave, err := e.admit(img.memory)
	if err != nil {
		return err
	}
	defer leave()
	err = e.fork(ctx, img, id, child)
	if err != nil && ctx.Err() == nil {
		err = e.fork(ctx, img, id, child)
	}
	return err
}

func (e *engine) fork(ctx context.Context, img image, id keeper.ID, child runner.Child) error {
	parent, err := e.get(keeper.Parent)
	if err != nil {
		return err
	}
	below := ""
	if parent.private {
		below = e.mounts.upper(int(keeper.Parent))
	}
	source, err := e.worktreeOf(id, img.worktree, below)
	if err != nil {
		return err
	}
	b, err := newSpec(e.mounts.layout, source, e.scope.Slug, e.privileges.init, e.spec.Mounts)
	if err != nil {
		return err
	}
	e.seed(b)
	s := &sandbox{id: id, source: source, private: img.worktree == runner.Private, name: containerID(int(id))}
	if err := e.launch(ctx, s, b, "restore", "-image-path", img.dir); err != nil {
		return fmt.Errorf("restore %s: %w", child.Slug, err)
	}
	if err := e.probe(ctx, s, child); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		if rmErr := e.remove(undo, s); rmErr != nil {
			return fmt.Errorf("%w (and it could not be removed: %v)", err, rmErr)
		}
		return err
	}
	return nil
}

// probe gives the child its own identity and tries what must be true of it: a command runs, the clock is right, the
// worktree is there, the services answer. A restore may say 0 and leave a dead sandbox.
func (e *engine) probe(ctx context.Context, s *sandbox, child runner.Child) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	before := time.Now()
	id := guest.Identity{Hostname: child.Slug, MachineID: machineID(), Worktree: e.scope.Worktree}
	r, err := s.line.ask(ctx, id)
	if err != nil {
		return fmt.Errorf("probe %s: %w", child.Slug, err)
	}
	if r.Message != "" {
		return fmt.Errorf("probe %s: %s", child.Slug, r.Message)
	}
	if r.Now.Before(before.Add(-clockSlack)) || r.Now.After(time.Now().Add(clockSlack)) {
		return fmt.Errorf("probe %s: its clock says %s", child.Slug, r.Now.Format(time.RFC3339))
	}
	return runner.Ready(ctx, inChild{e, s}, e.spec)
}

const probeTimeout = 30 * time.Second

// inChild runs readiness lines in a child, with what services may do.
type inChild struct {
	e *engine
	s *sandbox
}

func (c inChild) Exec(ctx context.Context, cmd runner.Command) (runner.Exit, error) {
	return c.e.execChild(ctx, c.s, cmd, c.e.privileges.prepare)
}

// machineID is 32 random hex digits.
// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
func machineID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}
