//go:build linux

package gvisor

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner/pack"
)

// toWorktree makes the entry below the upper folder. All folders it lies in were made here before, so that no link
// can stand between; os.Root makes sure of it.
func (u unpacker) toWorktree(e pack.Entry, content io.Reader) error {
	mode := fs.FileMode(e.Mode & 0o777)
	if e.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	var err error
	switch e.Typeflag {
	case tar.TypeDir:
		return u.folder(e, mode)
	case tar.TypeSymlink:
		err = u.worktree.Symlink(e.Linkname, e.Path)
	case tar.TypeLink:
		return u.worktree.Link(e.Link, e.Path)
	case tar.TypeChar, tar.TypeFifo:
		return u.node(e)
	default:
		err = u.file(e, content)
	}
	if err == nil && !u.user {
		err = u.worktree.Lchown(e.Path, e.Uid, e.Gid)
	}
	if err != nil || e.Typeflag == tar.TypeSymlink {
		return err
	}
	return errors.Join(u.worktree.Chmod(e.Path, mode), u.worktree.Chtimes(e.Path, time.Time{}, e.ModTime))
}

func (u unpacker) file(e pack.Entry, content io.Reader) error {
	f, err := u.worktree.OpenFile(e.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

func (u unpacker) folder(e pack.Entry, mode fs.FileMode) error {
	if e.Path == "" {
		return nil // it is the upper folder, which is like the worktree
	}
	if err := u.worktree.Mkdir(e.Path, 0o700); err != nil {
		return err
	}
	dir, err := u.worktree.Open(e.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !u.user {
		err = dir.Chown(e.Uid, e.Gid)
	}
	if err == nil && e.IsOpaque() {
		class := "trusted"
		if u.user {
			class = "user"
		}
		err = unix.Fsetxattr(int(dir.Fd()), class+".overlay.opaque", []byte("y"), 0)
	}
	return errors.Join(err, dir.Chmod(mode|0o700)) // the keeper has to get in, whoever the folder's owner is
}

// node makes a named pipe, or overlayfs's mark of what is gone: a device with the number 0.
func (u unpacker) node(e pack.Entry) error {
	dir, err := u.worktree.Open(path.Dir(e.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	kind := uint32(unix.S_IFIFO)
	if e.Deleted() {
		kind = unix.S_IFCHR
	}
	return unix.Mknodat(int(dir.Fd()), filepath.Base(e.Path), kind|0o600, 0)
}
