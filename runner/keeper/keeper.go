// Package keeper runs one scope's sandboxes inside a process that nothing can outlive: boxer started once more as
// the first process of its own PID and mount namespace. When it dies, in any way, the kernel ends everything in it.
//
// It owns that process from both sides: the client starts it, or finds it by its socket, and is a runner.Session;
// the server takes one request per connection, hands the caller's own stdin, stdout and stderr to the command, and
// gives it an Engine to do the work with. What dead keepers leave on disk is taken away here too. It must know nothing
// about any engine.
//
// The choice a reader would question: there is no multiplexing. Every call is a connection of its own, so a caller
// that dies is seen as an end of file of exactly what it was waiting for; one connection more, held open by each
// session, is the lease of what that session made.
package keeper

import (
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// Env is what a keeper tells its engine about the place it works in.
type Env struct {
	Scope   runner.Scope
	Dirs    runner.Dirs
	Dir     string       // the sandbox's private folder, mode 0700; removed whole after the keeper's end
	Exe     string       // this binary as the starter saw it; it may be deleted or replaced any time
	UID     int          // who called boxer, outside of any user namespace
	GID     int          // same
	PID     bool         // in a PID namespace of its own, as its first process
	Mount   bool         // in a mount namespace of its own: what is mounted ends with the keeper
	User    bool         // in a user namespace of its own
	Cleanup string       // as runner.Session says
	Reaper  *reap.Reaper // the one that may start processes here; os/exec may not be used
}

// The words of runner.Session.Cleanup.
const (
	byKernel   = "kernel"
	supervised = "supervised"
	bestEffort = "best effort"
)
