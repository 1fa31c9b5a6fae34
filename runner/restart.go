package runner

import "context"

// Restarter is a Forker whose sandbox may run without being a branch source, because something other than boxer
// started it.
type Restarter interface {
	// Forkable tells whether the sandbox can be forked as it runs.
	Forkable(ctx context.Context) (bool, error)
	// Restart starts the sandbox again as a branch source, with its services and its setup. Whatever runs in it ends;
	// its children live on. Progress is as of Backend.Start.
	Restart(ctx context.Context, progress func(Step)) error
}
