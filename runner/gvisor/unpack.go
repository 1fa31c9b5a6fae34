//go:build linux

package gvisor

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/runner/pack"
)

// BootPacked starts the parent with a pack's files in place: gVisor takes those of the root file system as a tar file,
// those of the worktree are put where its overlay would have written them.
func (e *engine) BootPacked(ctx context.Context, spec runner.Spec, from runner.PackStream) (runner.Machine, error) {
	e.packed = true
	m, err := e.boot(ctx, spec, func() error {
		if spec.Worktree == runner.Private && !e.kernelOverlay {
			return e.noOverlay("the pack's changes of the worktree cannot be put in place")
		}
		if err := e.roomForPack(from.Size); err != nil {
			return err
		}
		return e.noSpace(e.unpack(from.From))
	})
	if err == nil {
		err = os.Truncate(e.mounts.seed(), 0) // gVisor has read it. Every fork names it, so it stays
	}
	if err == nil {
		err = e.passPIDs(ctx, from.LastPID)
	}
	return m, err
}

// passPIDs sees that no process gets a number that one had in the packed sandbox: a server whose lock file names a
// number that lives takes itself for running already.
func (e *engine) passPIDs(ctx context.Context, last int) error {
	parent, err := e.get(keeper.Parent)
	if err != nil {
		return err
	}
	var res guest.PassResult
	return e.call(ctx, parent, guest.Pass(e.mounts.guest()), nil, e.privileges.commands, guest.PassRequest{Last: last}, &res)
}

// seed tells gVisor of the pack. At a restore it reads nothing from there, but asks for the same annotation.
func (e *engine) seed(spec *specs.Spec) {
	if e.packed {
		spec.Annotations = map[string]string{"dev.gvisor.tar.rootfs.upper": e.mounts.seed()}
	}
}

// unpack takes the stream apart.
func (e *engine) unpack(from io.Reader) (err error) {
	border, err := e.border()
	if err != nil {
		return err
	}
	seed, err := os.OpenFile(e.mounts.seed(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seed.Close()) }()
	upper := e.mounts.upper(int(keeper.Parent))
	if err := os.MkdirAll(upper, 0o700); err != nil {
		return err
	}
	worktree, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer worktree.Close()
	buffered := bufio.NewWriterSize(seed, 1<<20)
	u := unpacker{
		border: border, seed: tar.NewWriter(buffered), worktree: worktree, user: e.env.User, private: e.spec.Worktree == runner.Private,
	}
	err = u.all(pack.NewEntryReader(from))
	if err == nil {
		_, err = io.Copy(io.Discard, from) // the padding after the end
	}
	if err == nil {
		err = errors.Join(u.seed.Close(), buffered.Flush())
	}
	return err
}

// unpacker puts a pack's entries in their places.
type unpacker struct {
	border
	seed     *tar.Writer
	worktree *os.Root // the upper folder
	user     bool     // in a user namespace: owners are the caller, and overlayfs's marks are user attributes
	private  bool     // the sandbox has a worktree of its own
}

func (u unpacker) all(r *pack.EntryReader) error {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Part == pack.Worktree && !u.private {
			return &runner.Error{Reason: "the pack changes the worktree, and its manifest does not say so", Cause: runner.PackDamaged}
		}
		if ok, _ := u.passes(e); !ok {
			continue
		}
		if err := u.fits(e); err != nil {
			return err
		}
		put := u.toSeed
		if e.Part == pack.Worktree {
			put = u.toWorktree
		}
		if err := put(e, r); err != nil {
			return fmt.Errorf("unpack %s: %w", e.Name, err)
		}
	}
}

// toSeed gives the entry the name that gVisor knows it by.
func (u unpacker) toSeed(e pack.Entry, content io.Reader) error {
	named := func(p string) string {
		if p == "" {
			return "."
		}
		return "./" + p
	}
	h := &tar.Header{
		Typeflag: e.Typeflag, Name: named(e.Path), Mode: e.Mode & 0o7777, Uid: e.Uid, Gid: e.Gid, ModTime: e.ModTime,
		PAXRecords: attributes(e.PAXRecords), Format: tar.FormatPAX,
	}
	switch e.Typeflag {
	case tar.TypeDir:
		h.Name += "/"
		u.ownerHere(h, u.place(e))
	case tar.TypeReg:
		h.Size = e.Size
	case tar.TypeSymlink:
		h.Linkname = e.Linkname
	case tar.TypeLink:
		h.Linkname = named(e.Link)
	}
	if err := u.seed.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.CopyN(u.seed, content, h.Size)
	return err
}

// ownerHere gives a folder that this host has too the owner that it has here. Those that are not the caller's show as
// nobody's to an ordinary user and as root's to root: a pack that went from one to the other would turn them over.
func (u unpacker) ownerHere(h *tar.Header, place string) {
	if h.Uid != nobody && (h.Uid != 0 || !u.user) {
		return
	}
	var st unix.Stat_t
	if unix.Lstat(place, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		h.Uid, h.Gid = int(st.Uid), int(st.Gid)
	}
}

// nobody is what the kernel shows for owners that a user namespace does not know.
const nobody = 65534
