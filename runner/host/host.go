// Package host is the backend without a sandbox: commands run on this machine as they are, and a child is a set of
// processes and nothing else. It is used only when asked for by name.
//
// It owns the processes it starts and the log files of its services. It may read and clear files of the worktree that
// a pick names. It must never signal a process that is not known to be its own: by a mark in the environment, by its
// session, or by having such a process as parent.
//
// The choice a reader would question: for all that, it runs in a keeper like the gVisor backend. That is what ends
// every process it started, daemons included, however boxer ends.
package host

import (
	"context"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// Kind is the name people choose the backend by.
const Kind = "host"

// Backend starts and finds keepers of processes on this machine.
type Backend struct{ keeper keeper.Config }

// New makes the backend with its files below dirs.
func New(dirs runner.Dirs) *Backend {
	return &Backend{keeper.Config{Kind: Kind, Dirs: dirs, Bare: true}}
}

// Kind is "host".
func (b *Backend) Kind() string { return Kind }

// Probe tries whether a keeper can be started.
func (b *Backend) Probe(ctx context.Context) error {
	_, err := b.keeper.Probe(ctx)
	return err
}

// Cleanup tells what would guarantee here that nothing outlives boxer, as runner.Session says.
func (b *Backend) Cleanup(ctx context.Context) (string, error) { return b.keeper.Probe(ctx) }

// Attach connects to the scope's running keeper.
func (b *Backend) Attach(ctx context.Context, s runner.Scope) (runner.Session, error) {
	session, err := b.keeper.Attach(ctx, s)
	if err != nil {
		return nil, err
	}
	return keeper.ShareSession{Session: session}, nil
}

// Start attaches to the scope's keeper or starts one.
func (b *Backend) Start(ctx context.Context, s runner.Scope, spec runner.Spec, progress func(runner.Step)) (runner.Session, error) {
	session, err := b.keeper.Start(ctx, s, spec, progress)
	if err != nil {
		return nil, err
	}
	return keeper.ShareSession{Session: session}, nil
}

// Down ends the scope's keeper, also one of another version, and removes what it has on disk.
func (b *Backend) Down(ctx context.Context, s runner.Scope) error { return b.keeper.Down(ctx, s) }

// Main runs a keeper of this backend, if args ask for one.
func Main(args []string) (code int, handled bool) {
	return keeper.Main(args, Kind, newEngine)
}
