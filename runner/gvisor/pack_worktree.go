//go:build linux

package gvisor

import (
	"archive/tar"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
)

// worktreeOf reads the upper folder of the worktree's overlay: plain files, and overlayfs's marks of what is gone.
func (p *packer) worktreeOf(ctx context.Context, upper string) error {
	p.worktree = &runner.PackCount{}
	root, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer root.Close()
	links := map[uint64]string{} // path by inode, of files that have several names
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e, ok, err := upperEntry(root, upper, name, info)
		if err != nil || !ok {
			return err
		}
		if st := info.Sys().(*syscall.Stat_t); st.Nlink > 1 && info.Mode().IsRegular() {
			if first, there := links[st.Ino]; there {
				e.Typeflag, e.Link, e.Size = tar.TypeLink, first, 0
			} else {
				links[st.Ino] = e.Path
			}
		}
		if e.Typeflag != tar.TypeReg {
			return p.add(e, strings.NewReader(""), p.worktree)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return p.add(e, f, p.worktree)
	})
}

// upperEntry describes one name of an upper folder; ok is false for what no pack carries.
func upperEntry(root *os.Root, upper, name string, info fs.FileInfo) (e pack.Entry, ok bool, err error) {
	st := info.Sys().(*syscall.Stat_t)
	h := &tar.Header{Mode: int64(st.Mode & 0o1777), Uid: int(st.Uid), Gid: int(st.Gid), ModTime: info.ModTime()}
	e = pack.Entry{Header: h, Part: pack.Worktree, Path: relative(name)}
	switch info.Mode().Type() {
	case fs.ModeDir:
		h.Typeflag = tar.TypeDir
		err = overlayMarks(filepath.Join(upper, name), h)
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		h.Linkname, err = root.Readlink(name)
	case fs.ModeNamedPipe:
		h.Typeflag = tar.TypeFifo
	case fs.ModeDevice | fs.ModeCharDevice:
		h.Typeflag = tar.TypeChar
		return e, st.Rdev == 0, nil
	default:
		return e, false, nil
	}
	return e, true, err
}

// overlayMarks reads what overlayfs notes about a folder.
// https://docs.kernel.org/filesystems/overlayfs.html (opaque directories, redirect_dir)
func overlayMarks(dir string, h *tar.Header) error {
	var value [8]byte
	for _, class := range []string{"trusted", "user"} {
		n, err := unix.Lgetxattr(dir, class+".overlay.opaque", value[:])
		if err == nil && string(value[:n]) == "y" {
			h.PAXRecords = map[string]string{pack.Opaque: "y"}
		}
		if n, err := unix.Lgetxattr(dir, class+".overlay.redirect", nil); err == nil && n > 0 {
			return &runner.Error{
				Reason: "the kernel only noted that " + h.Name + " was renamed (redirect_dir), and a pack cannot carry that",
				Cause:  runner.Unsupported, Fix: "boxer shard --worktree shared",
			}
		}
	}
	return nil
}
