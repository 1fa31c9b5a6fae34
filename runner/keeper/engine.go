package keeper

import (
	"context"
	"io"

	"github.com/boxer-ci/boxer/runner"
)

// ID names a sandbox of one keeper for the engine: 0 is the parent, children count from 1 and no number is ever
// given twice, so that a removal still under way never meets a new child of the same name.
type ID int

// Parent is the ID of the sandbox that children are made from.
const Parent ID = 0

// Engine is what a backend does inside the keeper's process. The keeper serialises nothing for it except that
// Boot comes first and once: all other methods may run at the same time, and must return when ctx ends.
type Engine interface {
	// Boot starts the parent, without its services, and returns the machine to prepare it through: its commands may
	// be allowed more than those of Exec are.
	Boot(ctx context.Context, spec runner.Spec) (runner.Machine, error)
	// Exec runs one command as runner.Session.Exec says.
	Exec(ctx context.Context, id ID, c runner.Command) (runner.Exit, error)
	// Collect writes the files of the pick as a tar stream, names relative to Pick.Base. What was skipped is returned.
	Collect(ctx context.Context, id ID, p runner.Pick, w io.Writer) ([]runner.Skipped, error)
	// Clear removes the files of the pick.
	Clear(ctx context.Context, id ID, p runner.Pick) error
	// Remove ends children and frees what they hold. Every one is tried; one that is gone is no error.
	Remove(ctx context.Context, ids []ID) error
	// Alive tells whether the sandbox's processes still run.
	Alive(id ID) bool
	// Usage tells what the sandbox costs.
	Usage(id ID) (runner.Usage, error)
	// Close ends everything and frees what the engine holds. The keeper exits right after.
	Close(ctx context.Context) error
}

// Forker is an Engine that can copy the running parent.
type Forker interface {
	// Freeze takes the parent's state of this moment.
	Freeze(ctx context.Context, w runner.Worktree) (Image, error)
	// Fork makes the child id from the image, under the name that people see, and returns when a probe showed that it runs.
	Fork(ctx context.Context, image Image, id ID, child runner.Child) error
	// Release frees the image. Children live on.
	Release(ctx context.Context, image Image) error
}

// Sharer is an Engine whose children are commands side by side in the parent.
type Sharer interface {
	// Share makes the child id.
	Share(ctx context.Context, id ID, child runner.Child) error
}

// Tidier is an Engine that can leave something behind while its keeper lives.
type Tidier interface {
	// Strays lists the files and folders of images that no source has any more and none is about to have.
	Strays() ([]string, error)
}

// Image is an engine's own note of a frozen parent.
type Image any
