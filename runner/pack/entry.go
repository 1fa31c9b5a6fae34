package pack

import (
	"archive/tar"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// The parts of a pack's content, in this order.
const (
	Root     = "root"     // what the sandbox changed of the root file system
	Worktree = "worktree" // what it changed of its own copy of the worktree
)

// Opaque is the record of a folder that hides all that lies below it on the host.
const Opaque = "SCHILY.xattr.trusted.overlay.opaque"

// Entry is one thing in a part: a folder, a file, a link, or the mark of one that was deleted.
type Entry struct {
	*tar.Header
	Part string
	Path string // below the part's folder, without a slash at the end; "" is that folder
	Link string // of a hard link: the Path that it has in common
}

// Deleted tells whether the entry says that something is not there.
func (e Entry) Deleted() bool {
	return e.Typeflag == tar.TypeChar && e.Devmajor == 0 && e.Devminor == 0
}

// Folder tells whether the entry is a folder, and IsOpaque whether nothing of the host's shows in it.
func (e Entry) Folder() bool   { return e.Typeflag == tar.TypeDir }
func (e Entry) IsOpaque() bool { return e.PAXRecords[Opaque] == "y" }

// EntryReader reads a pack's content and refuses what could reach outside its part, as soon as it comes to it.
type EntryReader struct {
	tar  *tar.Reader
	seen map[string]byte // type by whole name
}

// NewEntryReader reads the tar stream r.
func NewEntryReader(r io.Reader) *EntryReader {
	return &EntryReader{tar.NewReader(r), map[string]byte{}}
}

// Read reads the contents of the file that Next came to.
func (r *EntryReader) Read(b []byte) (int, error) { return r.tar.Read(b) }

// Next goes to the next entry; io.EOF is the end. Every entry comes after the folder it lies in, so no link can ever
// stand between.
func (r *EntryReader) Next() (Entry, error) {
	h, err := r.tar.Next()
	if err == io.EOF {
		return Entry{}, err
	}
	if err != nil {
		return Entry{}, damaged("its content is no archive").Because(err)
	}
	e := Entry{Header: h}
	name := h.Name
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
	}
	e.Part, e.Path, _ = strings.Cut(name, "/")
	switch _, twice := r.seen[name]; {
	case e.Part != Root && e.Part != Worktree, name != path.Clean(name), strings.Contains(name, "\x00"):
		return e, refused("%q leaves the root", h.Name)
	case twice:
		return e, refused("%q is there twice", h.Name)
	case e.Path == "" && h.Typeflag != tar.TypeDir:
		return e, refused("%q is no folder", h.Name)
	case e.Path != "" && r.seen[path.Dir(name)] != tar.TypeDir:
		return e, refused("%q does not lie in a folder of the pack", h.Name)
	}
	if err := r.kind(&e); err != nil {
		return e, err
	}
	r.seen[name] = h.Typeflag
	return e, nil
}

func (r *EntryReader) kind(e *Entry) error {
	switch e.Typeflag {
	case tar.TypeDir, tar.TypeSymlink, tar.TypeFifo:
		return nil
	case tar.TypeReg:
		for k := range e.PAXRecords {
			if strings.HasPrefix(k, "GNU.sparse.") { // a few bytes that would become any number of them
				return refused("%q is a sparse file", e.Name)
			}
		}
		return nil
	case tar.TypeChar:
		if !e.Deleted() {
			return refused("%q is a device", e.Name)
		}
		return nil
	case tar.TypeLink:
		var ok bool
		e.Link, ok = strings.CutPrefix(e.Linkname, e.Part+"/")
		if was, there := r.seen[e.Linkname]; !ok || !there || was == tar.TypeDir {
			return refused("%q is a link to %q, which is no file of the pack", e.Name, e.Linkname)
		}
		return nil
	}
	return refused("%q is of a kind (%q) that no pack has", e.Name, e.Typeflag)
}

func refused(format string, args ...any) error {
	return &runner.Error{Reason: "the pack is refused: " + fmt.Sprintf(format, args...), Cause: runner.PackUnsafe}
}
