//go:build linux

package guest

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
)

// FilesRequest picks files of the worktree: to stream them as tar on stdout, or to remove them.
type FilesRequest struct {
	Worktree string
	Pick     runner.Pick
	Clear    bool
}

// FilesResult tells what was left behind.
type FilesResult struct {
	Skipped []runner.Skipped
	Message string // what went wrong, "" if nothing
}

// collect serves sandboxes whose worktree is copied on write in gVisor's own memory, where the host cannot see it.
func collect(dec *json.Decoder, _ io.Reader) any {
	var r FilesRequest
	if err := dec.Decode(&r); err != nil {
		return FilesResult{Message: err.Error()}
	}
	root, err := os.OpenRoot(r.Worktree)
	if err != nil {
		return FilesResult{Message: err.Error()}
	}
	defer root.Close()
	var res FilesResult
	if r.Clear {
		err = files.Clear(context.Background(), root, r.Worktree, r.Pick)
	} else {
		res.Skipped, err = files.Tar(context.Background(), root, r.Worktree, r.Pick, os.Stdout)
	}
	if err != nil {
		res.Message = err.Error()
	}
	return res
}
