package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// youth is how long a thing that does not tell whose it is is taken for one that is just being made.
const youth = time.Minute

// orphans takes away folders and sockets of the scope that no record names, and tells whether some may be held. A
// keeper's record is there before its folder is, and goes after it.
func (g *reclaimer) orphans(ctx context.Context, key string) (held bool, err error) {
	now, _ := g.store().Get(key) // one that cannot be read names nothing
	folders, _ := filepath.Glob(filepath.Join(g.dirs.Temp, key+".*"))
	var errs []error
	for _, path := range folders {
		if path == now.Dir || !keeperName.MatchString(filepath.Base(path)) || !own(path, fs.ModeDir) {
			continue
		}
		orphan, err := g.folder(ctx, path)
		held = held || !orphan
		errs = append(errs, err)
	}
	sockets, _ := filepath.Glob(filepath.Join(g.dirs.Runtime, key+".*"+socketSuffix))
	for _, path := range sockets {
		name := strings.TrimSuffix(filepath.Base(path), socketSuffix)
		if path == now.Socket || !keeperName.MatchString(name) || !own(path, fs.ModeSocket) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.dirs.Temp, name)); err == nil {
			continue // it goes with the folder
		}
		orphan, err := g.socket(path)
		held = held || !orphan
		errs = append(errs, err)
	}
	return held, errors.Join(errs...)
}

// own tells whether the path itself is of the type and belongs to who runs this process.
func own(path string, kind fs.FileMode) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != kind {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// folder judges a keeper's folder that no record of this state folder names.
func (g *reclaimer) folder(ctx context.Context, path string) (orphan bool, err error) {
	what := runner.Garbage{Kind: "folder", Name: filepath.Base(path), Path: path, Reason: "no sandbox has it"}
	set, err := readSetup(path)
	if err != nil {
		return g.bare(what)
	}
	if set.Dir != path || !set.plausible() {
		g.skip(what, "its setup file is of another folder, "+set.Dir)
		return false, nil
	}
	if by := g.holderOf(set); by != "" {
		g.skip(what, by)
		return false, nil
	}
	return true, g.take(what, func() error { return set.bury(ctx) })
}

// holderOf says who may hold the folder of the setup, "" if nobody can.
func (g *reclaimer) holderOf(set setup) string {
	if alive(set.Owner) {
		return fmt.Sprintf("process %d, which started it, lives", set.Owner.PID)
	}
	if set.Socket != "" && listened(set.Socket) {
		return "its keeper answers"
	}
	if set.Dirs.State == g.dirs.State {
		return ""
	}
	if theirs, err := set.store().Get(set.Scope.Key); err == nil && theirs.Dir == set.Dir {
		return "it belongs to the sandboxes of another state folder, " + set.Dirs.State
	}
	return ""
}

// bare judges a folder that does not tell whose it is: one whose maker died before he wrote that down has nothing in it.
func (g *reclaimer) bare(what runner.Garbage) (orphan bool, err error) {
	entries, err := os.ReadDir(what.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, stuck(what, err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != logFile && e.Name() != setupFile }) {
		g.skip(what, "it does not tell whose it is and is not empty, so it may not be boxer's")
		return false, nil
	}
	if young(what.Path) {
		g.skip(what, "it may just be being made")
		return false, nil
	}
	return true, g.take(what, func() error { return removeTree(what.Path) })
}

// socket judges a socket that no record names and that has no folder.
func (g *reclaimer) socket(path string) (orphan bool, err error) {
	what := runner.Garbage{Kind: "socket", Name: filepath.Base(path), Path: path, Reason: "nobody listens at it"}
	if listened(path) {
		g.skip(what, "somebody listens at it")
		return false, nil
	}
	if young(path) {
		g.skip(what, "it may just be being made")
		return false, nil
	}
	return true, g.take(what, func() error { return remove(path) })
}

func young(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) < youth
}

// listened tells whether a process listens at the socket. Only a refusal says that none does.
func listened(path string) bool {
	addr, release, err := unixAddr(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer release()
	c, err := (&net.Dialer{Timeout: helloTime}).Dial("unix", addr.Name)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
	}
	c.Close()
	return true
}

// probeName is the name of a folder that a backend's probe has a sandbox over.
var probeName = regexp.MustCompile(`^probe-[0-9]+$`)

// probeFolders takes away those that a probe which was killed left. Nothing is ever in them.
func (g *reclaimer) probeFolders() error {
	paths, _ := filepath.Glob(filepath.Join(g.dirs.Temp, "probe-*"))
	if len(paths) == 0 {
		return nil
	}
	records, err := g.store().All()
	errs := []error{err}
	for _, path := range paths {
		used := slices.ContainsFunc(records, func(r runner.Record) bool { return r.Scope.Worktree == path && alive(r.Owner) })
		entries, err := os.ReadDir(path)
		if used || err != nil || len(entries) > 0 || young(path) || !probeName.MatchString(filepath.Base(path)) || !own(path, fs.ModeDir) {
			continue
		}
		what := runner.Garbage{Kind: "folder", Name: filepath.Base(path), Path: path, Reason: "the probe that made it is over"}
		errs = append(errs, g.take(what, func() error { return remove(path) }))
	}
	return errors.Join(errs...)
}
