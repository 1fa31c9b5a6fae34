// Package files takes files out of a folder that a sandbox can write to while we look: it finds what a pick names,
// streams it as tar, unpacks that stream, and clears it.
//
// It may touch only what lies below the os.Root it is given. Everything in there is hostile: a report may be a
// symlink to a secret, a FIFO that never ends, a hard link to somebody else's file, or turn into one of them between
// two calls. So a file is looked at, opened without waiting, looked at again through the open file, and only then read.
//
// The choice a reader would question: no path is ever joined and used again. The walk goes down folder by folder,
// each an os.Root of its own.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/boxer-ci/boxer/runner"
)

// Outside is the cause of the error for a pick that leaves its folder.
const Outside runner.Cause = "PATH_OUTSIDE"

// tick is how much older than its writing a file may look: the kernel stamps it with the time of its last tick.
const tick = 20 * time.Millisecond

// Found is one regular file that a pick names.
type Found struct {
	Path string      // relative to Pick.Base, with slashes
	Info fs.FileInfo // as the walk saw it
	Dir  *os.Root    // the folder it lies in; valid during the visit only
	Name string      // its name there
}

// Walk visits the regular files that the pick names, sorted by path within each folder. root shows the folder that
// the sandbox knows as at; Pick.Base lies in it. A Base that is not there holds no files. Pick.Limit is not looked at.
// What matched and is no regular file, or could not be looked at, is returned.
func Walk(ctx context.Context, root *os.Root, at string, p runner.Pick, visit func(Found) error) ([]runner.Skipped, error) {
	globs, err := compile(p.Patterns)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Rel(at, p.Base)
	if err != nil || !filepath.IsLocal(base) {
		return nil, &runner.Error{Reason: fmt.Sprintf("%s lies outside %s", p.Base, at), Cause: Outside}
	}
	dir, err := root.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Base, err)
	}
	defer dir.Close()
	w := walk{ctx: ctx, globs: globs, visit: visit}
	if !p.Since.IsZero() {
		w.since = p.Since.Add(-tick)
	}
	err = w.folder(dir, ".")
	return w.skipped, err
}

type walk struct {
	ctx     context.Context
	globs   []glob
	since   time.Time
	visit   func(Found) error
	skipped []runner.Skipped
}

func (w *walk) folder(dir *os.Root, rel string) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	names, err := namesIn(dir)
	if err != nil {
		w.skip(rel, reasonOf(err))
		return nil
	}
	for _, name := range names {
		if err := w.entry(dir, name, path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

func namesIn(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}

func (w *walk) entry(dir *os.Root, name, rel string) error {
	matches, below := w.match(rel)
	if !matches && below == nothing {
		return nil
	}
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // gone meanwhile
	case err != nil:
		w.skip(rel, reasonOf(err))
		return nil
	case info.IsDir():
		if below == nothing {
			return nil
		}
		return w.descend(dir, name, rel, info)
	case info.Mode().Type() == fs.ModeSymlink && below == named:
		w.skip(rel, "symlink")
		return nil
	case !matches || info.ModTime().Before(w.since):
		return nil
	case !info.Mode().IsRegular():
		w.skip(rel, kindOf(info.Mode()))
		return nil
	}
	return w.visit(Found{Path: rel, Info: info, Dir: dir, Name: name})
}

// descend goes into the folder that was seen: one that became a symlink meanwhile is another file.
func (w *walk) descend(dir *os.Root, name, rel string, seen fs.FileInfo) error {
	sub, err := dir.OpenRoot(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.skip(rel, reasonOf(err))
		}
		return nil
	}
	defer sub.Close()
	if is, err := sub.Stat("."); err != nil || !os.SameFile(is, seen) {
		w.skip(rel, "changed while it was looked at")
		return nil
	}
	return w.folder(sub, rel)
}

func (w *walk) skip(rel, reason string) {
	w.skipped = append(w.skipped, runner.Skipped{Path: rel, Reason: reason})
}

func (w *walk) match(rel string) (matches bool, below reach) {
	for _, g := range w.globs {
		if ok, _ := doublestar.Match(g.pattern, rel); ok {
			matches = true
		}
		below = max(below, g.below(rel))
	}
	return matches, below
}

func kindOf(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeSymlink:
		return "symlink"
	case fs.ModeNamedPipe:
		return "named pipe"
	case fs.ModeSocket:
		return "socket"
	default:
		return "no regular file"
	}
}

// reasonOf leaves out the path that the error repeats.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// glob is one pattern, taken apart so that a walk goes only where it can match.
type glob struct {
	pattern string
	parts   []string // nil if it cannot be taken apart at its slashes
}

// reach tells what a pattern can match below a folder.
type reach int

const (
	nothing reach = iota
	deep          // something, through a **
	named         // something, and the folder itself is named by the pattern
)

func compile(patterns []string) ([]glob, error) {
	var globs []glob
	for _, p := range patterns {
		clean := p
		for strings.HasPrefix(clean, "./") {
			clean = strings.TrimLeft(clean[2:], "/")
		}
		if strings.HasSuffix(clean, "/") {
			clean += "**"
		}
		parts := strings.Split(clean, "/")
		for _, part := range parts {
			if part == ".." || strings.HasPrefix(clean, "/") {
				return nil, &runner.Error{Reason: fmt.Sprintf("the pattern %q leaves its folder", p), Cause: Outside}
			}
		}
		if clean == "" || !doublestar.ValidatePattern(clean) {
			return nil, &runner.Error{Reason: fmt.Sprintf("%q is no valid pattern", p), Cause: "BAD_PATTERN"}
		}
		if strings.ContainsAny(clean, "{[") { // may hold a slash that separates nothing
			parts = nil
		}
		globs = append(globs, glob{clean, parts})
	}
	return globs, nil
}

func (g glob) below(rel string) reach {
	if g.parts == nil {
		base, _ := doublestar.SplitPattern(g.pattern)
		if rel == base || strings.HasPrefix(base, rel+"/") {
			return named
		}
		if base == "." || strings.HasPrefix(rel, base+"/") {
			return deep
		}
		return nothing
	}
	names := strings.Split(rel, "/")
	for i, name := range names {
		if i == len(g.parts) {
			return nothing
		}
		if g.parts[i] == "**" {
			return deep
		}
		if ok, err := doublestar.Match(g.parts[i], name); err != nil || !ok {
			return nothing
		}
	}
	if len(names) == len(g.parts) {
		return nothing
	}
	return named
}
