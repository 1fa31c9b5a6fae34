//go:build linux

// Package gvisor is the backend built into boxer: every sandbox is a gVisor container over the host's own file
// system, copied on write, and a child is restored from its parent's checkpoint.
//
// It owns what lies in its keeper's folder: mounts in the keeper's namespace, bundles, images, overlays. It may start
// runsc (which is this binary again) for run and restore, and nothing else of it: checkpoints and commands go through
// gVisor's own client library, and a sandbox is removed by killing its processes, since `runsc delete` trusts process
// numbers that may be somebody else's. It must never mount anything outside the keeper's namespace.
//
// The choice a reader would question: what a sandbox may see is decided by mounts below the folder that serves as its
// root, made by the keeper before the sandbox starts, and not by mounts in the container's specification. So the
// list of mounts is the same for every parent and every child, as gVisor demands of a restore, whatever is hidden. Only
// runner.Spec's own mounts are in the specification, with the same sources at both ends.
package gvisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// Kind is the name people choose the backend by.
const Kind = "gvisor"

// Backend starts and finds gVisor sandboxes.
type Backend struct {
	Exe  string      // the binary that becomes keeper and runsc; "" is this one
	From keeper.Rung // where to start on the keeper's ladder, for tests; 0 is the top
	dirs runner.Dirs
}

// New makes the backend with its files below dirs.
func New(dirs runner.Dirs) *Backend { return &Backend{dirs: dirs} }

// Kind is "gvisor".
func (b *Backend) Kind() string { return Kind }

func (b *Backend) keeper() keeper.Config {
	return keeper.Config{Kind: Kind, Dirs: b.dirs, Exe: b.Exe, From: b.From}
}

// linked tells whether the binary to start has gVisor in it. Of one that is not this one it is taken for granted.
func (b *Backend) linked() error {
	if b.Exe != "" {
		return nil
	}
	return linked()
}

// Attach connects to the scope's running sandbox.
func (b *Backend) Attach(ctx context.Context, s runner.Scope) (runner.Session, error) {
	session, err := b.keeper().Attach(ctx, s)
	if err != nil {
		return nil, err
	}
	return able(session), nil
}

// Start attaches to the scope's sandbox or starts one.
func (b *Backend) Start(ctx context.Context, s runner.Scope, spec runner.Spec, progress func(runner.Step)) (runner.Session, error) {
	if err := b.startable(s); err != nil {
		return nil, err
	}
	session, err := b.keeper().Start(ctx, s, spec, progress)
	if err != nil {
		return nil, err
	}
	return able(session), nil
}

// StartPacked starts the scope's sandbox from a pack.
func (b *Backend) StartPacked(ctx context.Context, s runner.Scope, spec runner.Spec, from runner.PackStream, progress func(runner.Step)) (runner.Session, error) {
	if err := b.startable(s); err != nil {
		return nil, err
	}
	session, err := b.keeper().StartPacked(ctx, s, spec, from, progress)
	if err != nil {
		return nil, err
	}
	return able(session), nil
}

// startable refuses what cannot work. What a sandbox is made from must not lie in what it has a copy of.
func (b *Backend) startable(s runner.Scope) error {
	if err := b.linked(); err != nil {
		return err
	}
	rel, err := filepath.Rel(s.Worktree, b.dirs.Temp)
	if err != nil || !filepath.IsLocal(rel) || s.Worktree == "/" {
		return nil
	}
	e := &runner.Error{
		Reason: "boxer's own folder " + b.dirs.Temp + " lies in the worktree that the sandbox gets a copy of",
		Cause:  "TEMP_IN_WORKTREE", Fix: "BOXER_TMP=/var/tmp boxer ...",
	}
	return e.At(s)
}

// able gives the session the abilities that this backend has.
func able(s *keeper.Session) runner.Session {
	return keeper.PackSession{ForkSession: keeper.ForkSession{Session: s}}
}

// Down ends the scope's sandbox whatever version of boxer started it.
func (b *Backend) Down(ctx context.Context, s runner.Scope) error { return b.keeper().Down(ctx, s) }

// Cleanup tells what would guarantee here that nothing outlives boxer, as runner.Session says.
func (b *Backend) Cleanup(ctx context.Context) (string, error) { return b.keeper().Probe(ctx) }

// Probe starts a sandbox over an empty folder, runs a command in it and removes it.
func (b *Backend) Probe(ctx context.Context) error {
	if err := b.linked(); err != nil {
		return err
	}
	if _, err := b.keeper().Probe(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dirs.Temp, "probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	scope, err := runner.ScopeOf(dir)
	if err != nil {
		return err
	}
	session, err := b.Start(ctx, scope, runner.Spec{Worktree: runner.Live, Dir: dir}, nil)
	if err != nil {
		return err
	}
	_, err = session.Exec(ctx, "", runner.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: "/"})
	return errors.Join(err, session.Close())
}

// Main runs the process that args[0] names, if it is one of this package's: the keeper of a scope, or a program
// inside a sandbox.
func Main(args []string) (code int, handled bool) {
	if code, handled := guest.Main(args); handled {
		return code, true
	}
	return keeper.Main(args, Kind, newEngine)
}

const (
	// clockSlack is how far a child's clock may be from the host's right after the fork.
	clockSlack = 2 * time.Second
	// defaultGrace is the time from SIGTERM to SIGKILL of a command whose Grace is not set.
	defaultGrace = 2 * time.Second
)
