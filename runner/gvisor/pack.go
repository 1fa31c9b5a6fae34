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
	"path"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/runner/pack"
)

// Pack writes what the parent changed. It is put aside first, in a file without a name: the parent stands still for as
// long as that takes, and not for as long as the caller takes to read it.
func (e *engine) Pack(ctx context.Context, w io.Writer) (runner.Packed, error) {
	parent, err := e.get(keeper.Parent)
	if err != nil {
		return runner.Packed{}, err
	}
	if parent.private && !e.kernelOverlay {
		return runner.Packed{}, e.noOverlay("what a sandbox wrote into its own copy of the worktree cannot be packed")
	}
	if err := e.memoryToPack(); err != nil {
		return runner.Packed{}, err
	}
	aside, err := os.CreateTemp(e.env.Dir, "pack-")
	if err != nil {
		return runner.Packed{}, err
	}
	defer aside.Close()
	if err := os.Remove(aside.Name()); err != nil {
		return runner.Packed{}, err
	}
	p, err := e.putAside(ctx, parent, aside)
	if err == nil {
		_, err = aside.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(w, aside)
	}
	return p.packed(), e.noSpace(err)
}

// putAside takes the changes of one moment: nothing in the sandbox moves until it has ended, well or not.
func (e *engine) putAside(ctx context.Context, parent *sandbox, to io.Writer) (p *packer, err error) {
	border, err := e.border()
	buffered := bufio.NewWriterSize(to, 1<<20)
	p = &packer{border: border, w: tar.NewWriter(buffered), secrets: map[string]bool{}, seen: map[string]bool{}}
	if err != nil {
		return p, err
	}
	e.still.Lock()
	defer e.still.Unlock()
	if err := parent.client.pause(); err != nil {
		return p, fmt.Errorf("hold the sandbox still: %w", err)
	}
	defer func() {
		if e := parent.client.resume(); e != nil {
			err = errors.Join(err, (&runner.Error{
				Reason: "the sandbox stands still and does not go on", Cause: runner.BackendFailed, Fix: "boxer down",
			}).Because(e))
		}
	}()
	if p.lastPID, err = parent.client.lastPID(); err != nil {
		return p, fmt.Errorf("list the sandbox's processes: %w", err)
	}
	err = p.rootOf(ctx, parent)
	if err == nil && parent.private {
		err = p.worktreeOf(ctx, e.mounts.upper(int(keeper.Parent)))
	}
	if err == nil {
		err = errors.Join(p.w.Close(), buffered.Flush())
	}
	return p, err
}

// packer writes the entries of a pack.
type packer struct {
	border
	w        *tar.Writer
	root     runner.PackCount
	worktree *runner.PackCount
	lastPID  int
	secrets  map[string]bool // hidden places that files were left in
	seen     map[string]bool // names that went in: a link to any other would lead nowhere
}

func (p *packer) packed() runner.Packed {
	out := runner.Packed{Root: p.root, Worktree: p.worktree, LastPID: p.lastPID, LeftOut: []string{}}
	for s := range p.secrets {
		out.LeftOut = append(out.LeftOut, s)
	}
	slices.Sort(out.LeftOut)
	return out
}

// rootOf reads the upper layer of the root file system, as gVisor writes it.
func (p *packer) rootOf(ctx context.Context, parent *sandbox) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer context.AfterFunc(ctx, func() { r.Close() })() // so that gVisor stops writing
	written := make(chan error, 1)
	go func() {
		err := parent.client.tarUpper(w)
		written <- errors.Join(err, w.Close())
	}()
	err = p.readRoot(tar.NewReader(r))
	if err == nil {
		_, err = io.Copy(io.Discard, r) // the padding after the end
	}
	r.Close()
	if e := <-written; e != nil && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = fmt.Errorf("read the sandbox's files: %w", e)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (p *packer) readRoot(t *tar.Reader) error {
	// gVisor has one mark of deletion under many names. Here each is one of its own: the first may have to be kept out.
	deleted := map[string]bool{}
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		e := pack.Entry{Header: h, Part: pack.Root, Path: relative(h.Name), Link: relative(h.Linkname)}
		if e.Typeflag == tar.TypeLink && deleted[e.Link] {
			e.Typeflag = tar.TypeChar
		}
		deleted[e.Path] = e.Deleted()
		if err := p.add(e, t, &p.root); err != nil {
			return err
		}
	}
}

// relative is a name of gVisor's without what they all have: "./etc/" is "etc", "./" is "".
func relative(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// add writes one entry if it may cross.
func (p *packer) add(e pack.Entry, content io.Reader, count *runner.PackCount) error {
	ok, secret := p.passes(e)
	if !ok {
		if secret != "" && !e.Folder() && !e.Deleted() { // a mark of deletion is boxer's own: that is how it hides a file
			p.secrets[secret] = true
		}
		return nil
	}
	device := (e.Typeflag == tar.TypeChar && !e.Deleted()) || e.Typeflag == tar.TypeBlock
	if device || (e.Typeflag == tar.TypeLink && !p.seen[path.Join(e.Part, e.Link)]) {
		return nil
	}
	h := &tar.Header{
		Typeflag: e.Typeflag, Name: path.Join(e.Part, e.Path), Mode: e.Mode & 0o7777, Uid: e.Uid, Gid: e.Gid, ModTime: e.ModTime,
		PAXRecords: attributes(e.PAXRecords), Format: tar.FormatPAX,
	}
	p.seen[h.Name] = true
	switch e.Typeflag {
	case tar.TypeDir:
		h.Name += "/"
	case tar.TypeReg:
		h.Size = e.Size
	case tar.TypeSymlink:
		h.Linkname = e.Linkname
	case tar.TypeLink:
		h.Linkname = path.Join(e.Part, e.Link)
	}
	if err := p.w.WriteHeader(h); err != nil {
		return err
	}
	count.Entries++
	count.Bytes += h.Size
	_, err := io.CopyN(p.w, content, h.Size)
	return err
}

func (e *engine) noOverlay(what string) error {
	return &runner.Error{
		Reason: "the kernel cannot mount an overlay over the worktree where boxer's files are, so " + what,
		Cause:  "NO_OVERLAY", Scope: e.scope.String(), Worktree: e.scope.Worktree,
		Fix: "boxer down && BOXER_TMP=/a/folder/on/a/disk boxer up",
	}
}
