//go:build linux

package gvisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// image is a checkpoint of the parent.
type image struct {
	dir      string
	worktree runner.Worktree // what its children get
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
	if err := e.roomFor(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.images++
	img := image{e.mounts.image(e.images), w}
	e.mu.Unlock()
	if err := os.MkdirAll(img.dir, 0o700); err != nil {
		return nil, err
	}
	e.still.Lock()
	defer e.still.Unlock()
	if err := e.runsc.run(ctx, "checkpoint", "-leave-running", "-image-path", img.dir, parent.name); err != nil {
		os.RemoveAll(img.dir) //nolint:errcheck // the first error is the one to tell
		return nil, fmt.Errorf("checkpoint the sandbox: %w", err)
	}
	return img, nil
}

// Release removes the image.
func (e *engine) Release(_ context.Context, i keeper.Image) error { return os.RemoveAll(i.(image).dir) }

// Fork restores a child and looks whether it is whole; one that is not is removed and restored once more.
func (e *engine) Fork(ctx context.Context, i keeper.Image, id keeper.ID, child runner.Child) error {
	err := e.fork(ctx, i.(image), id, child)
	if err != nil && ctx.Err() == nil {
		err = e.fork(ctx, i.(image), id, child)
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
	b, err := newSpec(e.mounts.layout, source, e.scope.Slug, e.privileges.init)
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
	r, err := e.renew(ctx, s, child)
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

func (e *engine) renew(ctx context.Context, s *sandbox, child runner.Child) (guest.IdentityResult, error) {
	id := guest.Identity{Hostname: child.Slug, MachineID: machineID(), Worktree: e.scope.Worktree}
	var res guest.IdentityResult
	err := e.call(ctx, s, guest.Renew(e.mounts.guest()), nil, e.privileges.identity, id, &res)
	return res, err
}

// machineID is 32 random hex digits.
// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
func machineID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}
