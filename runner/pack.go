package runner

import (
	"context"
	"io"
)

// Packer is a Session that can hand out what its sandbox changed over the host.
type Packer interface {
	// Pack writes the changes, all of one moment, to w as the tar stream that package pack describes. What runs in
	// the sandbox stands still for that moment and goes on; one that is a Halter is refused with MustBeStopped instead.
	Pack(ctx context.Context, w io.Writer) (Packed, error)
}

// Halter is a Packer whose sandbox can be packed only when it does not run.
type Halter interface {
	// Halt ends all that runs in the sandbox, for good, and keeps its disk: from then on it can be packed and taken down,
	// and nothing else. One whose children live is refused with IsBusy.
	Halt(ctx context.Context) error
}

// Unpacker is a Backend that can start a sandbox from what a Packer handed out.
type Unpacker interface {
	// StartPacked starts the scope's sandbox with the changes in place: the services run and are ready, their init and
	// setup are not repeated. A sandbox that runs already is refused with AlreadyRunning. It lasts as one of Start does.
	StartPacked(ctx context.Context, s Scope, spec Spec, from PackStream, progress func(Step)) (Session, error)
}

// Packed tells what Pack handed out.
type Packed struct {
	Spec     Spec       // what the sandbox was started from, less its environment
	Root     PackCount  // of the root file system
	Worktree *PackCount // of a private worktree; nil where the sandbox has the live one
	LastPID  int        // the highest number of a process or thread in the sandbox, 0 if it is not known
	LeftOut  []string   // absolute places whose files are no business of another host, sorted
}

// PackCount counts one part of a pack.
type PackCount struct {
	Entries int   `json:"entries"` // files, folders, links and marks of deletion
	Bytes   int64 `json:"bytes"`   // of the files' contents
}

// PackStream is a tar stream as Pack wrote it.
type PackStream struct {
	From    io.Reader
	Size    int64 // in bytes
	LastPID int   // as in Packed: the new sandbox's services get higher ones
}
