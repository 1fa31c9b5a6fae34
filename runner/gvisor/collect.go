//go:build linux

package gvisor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// Collect streams files out of a sandbox's worktree. A private one has written them into a folder of its own, where
// they lie even when the sandbox is dead, and where nothing lies that it did not write.
func (e *engine) Collect(ctx context.Context, id keeper.ID, p runner.Pick, w io.Writer) ([]runner.Skipped, error) {
	s, err := e.get(id)
	if err != nil {
		return nil, err
	}
	if s.private && !e.kernelOverlay {
		return e.collectInside(ctx, s, p, w)
	}
	tree := s.source
	if s.private {
		tree = e.mounts.upper(int(id))
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	skipped, err := files.Tar(ctx, root, e.scope.Worktree, p, w)
	return e.withoutDeleted(s, p, skipped), err
}

// withoutDeleted leaves out the marks by which an overlay says that a file is not there any more.
func (e *engine) withoutDeleted(s *sandbox, p runner.Pick, skipped []runner.Skipped) []runner.Skipped {
	if !s.private {
		return skipped
	}
	rel, err := filepath.Rel(e.scope.Worktree, p.Base)
	if err != nil {
		return skipped
	}
	var there []runner.Skipped
	for _, k := range skipped {
		if _, err := os.Lstat(filepath.Join(s.source, rel, k.Path)); !errors.Is(err, fs.ErrNotExist) {
			there = append(there, k)
		}
	}
	return there
}

// Clear removes files from a sandbox's worktree, so through the overlay where it has one.
func (e *engine) Clear(ctx context.Context, id keeper.ID, p runner.Pick) error {
	s, err := e.get(id)
	if err != nil {
		return err
	}
	if s.private && !e.kernelOverlay {
		return e.clearInside(ctx, s, p)
	}
	root, err := os.OpenRoot(s.source)
	if err != nil {
		return err
	}
	defer root.Close()
	return files.Clear(ctx, root, e.scope.Worktree, p)
}

// collectInside has a helper in the sandbox stream the files, where only gVisor itself can see them.
func (e *engine) collectInside(ctx context.Context, s *sandbox, p runner.Pick, w io.Writer) ([]runner.Skipped, error) {
	r, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(w, r)
		copied <- errors.Join(err, r.Close())
	}()
	res, err := e.askFiles(ctx, s, stdout, guest.FilesRequest{Worktree: e.scope.Worktree, Pick: p})
	return res.Skipped, errors.Join(err, stdout.Close(), <-copied)
}

func (e *engine) clearInside(ctx context.Context, s *sandbox, p runner.Pick) error {
	_, err := e.askFiles(ctx, s, nil, guest.FilesRequest{Worktree: e.scope.Worktree, Pick: p, Clear: true})
	return err
}

func (e *engine) askFiles(ctx context.Context, s *sandbox, stdout *os.File, r guest.FilesRequest) (guest.FilesResult, error) {
	var res guest.FilesResult
	err := e.call(ctx, s, guest.Files(e.mounts.guest()), stdout, e.privileges.commands, r, &res)
	if err == nil && res.Message != "" {
		err = errors.New(res.Message)
	}
	return res, err
}
