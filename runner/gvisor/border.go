//go:build linux

package gvisor

import (
	"archive/tar"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
	"github.com/boxer-ci/boxer/runner/pack"
)

// border decides what of a sandbox's files goes into a pack and what of a pack comes in: the same places are kept out
// both ways, by what this host knows of itself. So a pack made by somebody who hides nothing brings nothing to where
// secrets are here.
type border struct {
	worktree string
	hidden   []string // where secrets are, or would be
	own      []string // boxer's, and what every sandbox has of its own
	kept     []string // folders that must stay as the host has them, or the sandbox would not start
}

func (e *engine) border() (border, error) {
	common, err := commonGitDir(e.scope.Worktree)
	if err != nil {
		return border{}, err
	}
	b := border{worktree: e.scope.Worktree, hidden: slices.Concat(e.mounts.hidden, secretPlaces(e.hiding(e.spec)))}
	b.own = append(guest.Places(), "/proc", "/sys", "/dev", "/tmp/"+tmpMark, e.env.Dirs.Temp, filepath.Join(e.scope.Worktree, ".git"))
	if common != "" {
		b.own = append(b.own, common) // a sandbox's commits belong to the checkout they were made in
	}
	b.kept = []string{e.scope.Worktree, e.env.Dirs.Temp, "/tmp"}
	return b, nil
}

// place is where an entry lies in a sandbox.
func (b border) place(e pack.Entry) string {
	if e.Part == pack.Worktree {
		return filepath.Join(b.worktree, e.Path)
	}
	return filepath.Join("/", e.Path)
}

// passes tells whether an entry may cross. secret is the hidden place that it lies in, "" if that is not why.
func (b border) passes(e pack.Entry) (ok bool, secret string) {
	ok, secret = b.open(e.Part, b.place(e))
	if ok && e.Typeflag == tar.TypeLink {
		link := e
		link.Path = e.Link
		ok, secret = b.open(e.Part, b.place(link)) // the content is kept out, so there is nothing to link to
	}
	return ok, secret
}

func (b border) open(part, place string) (bool, string) {
	inside := func(dir string) bool { return contains(dir, place) }
	if slices.ContainsFunc(b.own, inside) || (part == pack.Root && inside(b.worktree)) {
		return false, ""
	}
	for _, h := range b.hidden {
		if inside(h) && (part == pack.Root || !contains(h, b.worktree)) { // the worktree shows where a folder above it is hidden
			return false, h
		}
	}
	return true, ""
}

// fits refuses an entry that would take away what the sandbox needs to start, or lead boxer's own hands elsewhere: in
// the worktree's copy the keeper itself covers what is hidden.
func (b border) fits(e pack.Entry) error {
	place := b.place(e)
	above := func(dir string) bool { return contains(place, dir) && place != dir }
	whole := e.Folder() && !e.IsOpaque()
	switch {
	case whole:
		return nil
	case e.Part == pack.Root && slices.ContainsFunc(b.kept, func(k string) bool { return above(k) || k == place }),
		e.Part == pack.Worktree && e.Path == "",
		e.Part == pack.Worktree && !e.Folder() && !e.Deleted() && slices.ContainsFunc(b.hidden, above):
		return &runner.Error{
			Reason: fmt.Sprintf("the pack changes %s, which this host needs as it is", place), Cause: runner.PackUnfit,
			Fix: "boxer up",
		}
	}
	return nil
}

// attributes are the extended attributes that cross.
func attributes(records map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range records {
		name, ok := strings.CutPrefix(k, "SCHILY.xattr.")
		if k == pack.Opaque || (ok && (strings.HasPrefix(name, "user.") || name == "security.capability")) {
			out[k] = v
		}
	}
	return out
}
