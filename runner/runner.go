// Package runner owns what every backend has in common: the identity of a scope, the contract between
// boxer and whatever runs its sandboxes, the errors people read, the lease and the undo stack.
//
// It may touch boxer's own state folders and nothing else: starting processes and mounting file systems is a
// backend's work, in a package of its own that imports this one. It must never import a backend.
//
// The choice a reader would question: the contract is split. Session holds what every backend can do; what only
// some can (Forker, Sharer) is an interface of its own, found by type assertion, so that "cannot" is a missing
// method and never a method that returns an error.
package runner

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Backend starts and finds the sandboxes of one kind.
type Backend interface {
	// Kind is the name people choose it by: "gvisor", "host", "smolvm".
	Kind() string
	// Probe tries whether the backend works on this machine, by doing and not by guessing. The error is an
	// *Error whose Fix names the one setting or command that is missing.
	Probe(ctx context.Context) error
	// Attach connects to the scope's running sandbox. Without one the error has the cause NotRunning.
	Attach(ctx context.Context, s Scope) (Session, error)
	// Start attaches to the scope's sandbox, or starts one from the spec: machine, services, setup. A running
	// sandbox that was started from another spec is refused with ConfigChanged. A sandbox that Start made ends
	// with the session, unless Keep says that it lasts. Progress gets one call per finished or failed step, in
	// order; nil is allowed.
	Start(ctx context.Context, s Scope, spec Spec, progress func(Step)) (Session, error)
}

// Session is one caller's hold on one scope's sandbox: the lease. What is made through it is removed when it is
// closed or when the process that holds it dies in any way, except for what Keep or ForkOptions.Lasting excepts.
type Session interface {
	// List returns the parent and then its children by index.
	List(ctx context.Context) ([]Sandbox, error)
	// Exec runs a command in the named sandbox (key or slug form; "" is the parent) and waits for it. When ctx
	// ends, the command's process group gets SIGTERM, after Command.Grace SIGKILL, and Exec returns the exit
	// together with context.Cause(ctx). A program that cannot be started is an *Error with the cause
	// CommandNotFound or CommandNotExecutable.
	Exec(ctx context.Context, name string, c Command) (Exit, error)
	// Collect copies the regular files that match the pick out of the named sandbox into dest, under their paths
	// relative to Pick.Base. It follows no symlink and never writes outside dest.
	Collect(ctx context.Context, name string, p Pick, dest *os.Root) (Collected, error)
	// Clear removes the regular files that match the pick in the named sandbox, so that a later Collect finds new
	// ones only.
	Clear(ctx context.Context, name string, p Pick) error
	// Remove ends and removes children. Removing one that is gone is no error; every one is tried.
	Remove(ctx context.Context, names ...string) error
	// Keep makes what this session made outlast it: the parent, and the named children.
	Keep(ctx context.Context, children ...string) error
	// Down ends the parent and all its children and leaves nothing behind.
	Down(ctx context.Context) error
	// Started tells whether this session started the sandbox (true) or found it running.
	Started() bool
	// Cleanup says what guarantees that nothing outlives boxer: "kernel", "supervised" or "best effort".
	Cleanup() string
	// Close gives up the lease: what this session made and did not keep is gone when it returns.
	Close() error
}

// Forker is a Session whose sandbox can be copied while it runs.
type Forker interface {
	// Freeze takes the parent's state of this moment as the source of forks. Without a branch source the error has
	// the cause NotForkable.
	Freeze(ctx context.Context, o ForkOptions) (Source, error)
}

// Sharer is a Session that cannot copy its sandbox but can run several commands side by side in it, each in a
// process group of its own that is removed as a whole. Everything else is shared.
type Sharer interface {
	Share(ctx context.Context) (Source, error)
}

// Source is where children come from: a parent's state at one moment.
type Source interface {
	// Have returns the lasting children that count towards ForkOptions.Want and exist already.
	Have() []Child
	// Fork makes one child. It may be called from several goroutines at once; a child is returned only after a
	// probe showed that it runs.
	Fork(ctx context.Context) (Child, error)
	// Release frees what the source holds. Children live on.
	Release(ctx context.Context) error
}

// ForkOptions says what kind of children a Source makes.
type ForkOptions struct {
	Worktree Worktree // what the children see at the worktree's path
	Lasting  bool     // children outlive the session (boxer fork); else they are this session's own (boxer shard)
	Want     int      // with Lasting: how many children the scope should have in all
}

// Worktree is how a sandbox sees the files of its scope.
type Worktree string

const (
	Live    Worktree = "live"    // the real folder: writes are seen by all
	Private Worktree = "private" // an own copy on top of the real folder
)

// Child is a fork of a parent.
type Child struct {
	Key   string // "sb-7e1852e4a3c3-f1"
	Slug  string // "swift-crab-f1"
	Index int    // from 1; the smallest free number of its scope
}

// State of a sandbox as people see it.
type State string

const (
	Starting State = "starting" // services or setup are still under way
	Running  State = "running"  // can be used
	Busy     State = "busy"     // runs; a run's children stand on its worktree, so commands in it are refused
	Dead     State = "dead"     // its processes ended, it has not been removed yet
)

// Sandbox is one line of boxer ls.
type Sandbox struct {
	Key      string    `json:"key"`
	Slug     string    `json:"slug"`
	Parent   string    `json:"parent"` // "" for a parent; a child's parent key
	State    State     `json:"state"`
	Backend  string    `json:"backend"`
	Worktree string    `json:"worktree"` // a child's is its parent's: it has none of its own
	Lasting  bool      `json:"lasting"`  // false: ends with the run that made it
	Created  time.Time `json:"created"`
	Usage              // when asked for
}

// Usage is what one sandbox costs. 0 is nothing, or not known.
type Usage struct {
	Memory int64 `json:"memory,omitempty"`        // bytes that are there for it alone
	Shared int64 `json:"shared_memory,omitempty"` // bytes of files that it maps: one copy serves all who map them
	Disk   int64 `json:"disk,omitempty"`          // bytes of its own
}

// Command is one program to run in a sandbox.
type Command struct {
	Args    []string         // Args[0] is looked up in Env's PATH
	Dir     string           // absolute; "" is the worktree
	Env     []string         // the whole environment, NAME=value
	User    string           // name or uid inside; "" is who called boxer
	Stdin   *os.File         // nil is /dev/null
	Stdout  *os.File         // nil is /dev/null
	Stderr  *os.File         // nil is /dev/null
	Signals <-chan os.Signal // passed on to the process group; nil for none
	Grace   time.Duration    // from SIGTERM to SIGKILL when the context ends; 0 is 2 s, less than 0 is SIGKILL alone
}

// Exit is how a command ended.
type Exit struct {
	Code   int            // exit code; 128 plus the number for a signal
	Signal syscall.Signal // the signal it died of, 0 if none
}

// Pick chooses files of a sandbox's worktree.
type Pick struct {
	Base     string    // absolute folder inside the worktree that Patterns are relative to
	Patterns []string  // doublestar globs
	Since    time.Time // only files modified at or after it; zero for all
	Limit    int64     // bytes in all; 0 is no limit. What is over it is skipped and named
}

// Collected is what Collect brought.
type Collected struct {
	Files   []string  // relative to Pick.Base, sorted
	Skipped []Skipped // what matched and was not brought
}

// Skipped is a file that matched a pick and was left behind.
type Skipped struct {
	Path   string // relative to Pick.Base
	Reason string // "symlink", "over 1 GiB", ...
}
