package smolvm

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
)

// Collect copies files out of the named sandbox. Those of a live worktree lie on this machine. Those of a private one
// come out of the machine as a tar stream: its own find and tar choose roughly and bring symlinks and pipes as what
// they are into a folder of boxer's, and from there the same code as everywhere chooses exactly.
func (s *Session) Collect(ctx context.Context, name string, p runner.Pick, dest *os.Root) (runner.Collected, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return runner.Collected{}, err
	}
	defer end()
	machine, private, err := s.place(ctx, name)
	if err != nil {
		return runner.Collected{}, err
	}
	worktree := s.record.Scope.Worktree
	if !private {
		root, err := os.OpenRoot(worktree)
		if err != nil {
			return runner.Collected{}, err
		}
		defer root.Close()
		return bring(ctx, root, worktree, p, dest)
	}
	dir, err := os.MkdirTemp(s.record.Dir, "collect-")
	if err != nil {
		return runner.Collected{}, err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return runner.Collected{}, err
	}
	defer root.Close()
	if err := s.fetch(ctx, machine, p, root); err != nil {
		return runner.Collected{}, s.at(err)
	}
	return bring(ctx, root, worktree, p, dest)
}

// place is the machine of a name, and whether its worktree is a copy of its own.
func (s *Session) place(ctx context.Context, name string) (machine string, private bool, err error) {
	if machine, err = s.find(ctx, name); err != nil {
		return "", false, err
	}
	k, err := s.book.read()
	if err != nil {
		return "", false, s.at(err)
	}
	return machine, k.Spec.Worktree == runner.Private, nil
}

// bring copies what the pick names from one folder of this machine to another.
func bring(ctx context.Context, root *os.Root, at string, p runner.Pick, dest *os.Root) (runner.Collected, error) {
	r, w := io.Pipe()
	var skipped []runner.Skipped
	sent := make(chan error, 1)
	go func() {
		var err error
		skipped, err = files.Tar(ctx, root, at, p, w)
		w.CloseWithError(err)
		sent <- err
	}()
	names, err := files.Untar(r, dest, p.Limit)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // the padding after the end
	}
	r.CloseWithError(err)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil {
		return runner.Collected{}, err
	}
	for _, sk := range skipped { // begun in the stream, and taken back
		if i, found := slices.BinarySearch(names, sk.Path); found {
			names = slices.Delete(names, i, i+1)
			if err := dest.Remove(sk.Path); err != nil {
				return runner.Collected{}, err
			}
		}
	}
	return runner.Collected{Files: names, Skipped: skipped}, nil
}

// listScript lists files below a folder: three arguments for each pattern, which are where to look, how deep and for
// which name. It follows no symlink. $3 is what find is to look for besides.
const listScript = `base=$1 since=$2 kind=$3
shift 3
cd "$base" 2>/dev/null || exit 0
[ "$(pwd -P)" = "$base" ] || exit 5
command -v find >/dev/null || { echo "the image has no find" >&2; exit 4; }
n=
if [ "$since" ]; then
	r=` + guestDir + `/since.$$
	touch -d "@$since" $r 2>/dev/null && n="-newer $r" || rm -f $r
fi
list() {
	while [ $# -gt 0 ]; do
		p=$1 deep=$2 name=$3
		shift 3
		if [ "$p" != . ]; then
			if [ -L "$p" ] || { [ -e "$p" ] && [ ! -d "$p" ]; }; then
				[ "$kind" = f ] || printf '%s\0' "$p"
				continue
			fi
			[ "$(cd "$p" 2>/dev/null && pwd -P)" = "$base/$p" ] || continue
		fi
		set -f
		if [ "$kind" = f ]; then find "$p" $deep -type f -name "$name" $n -print0
		else find "$p" $deep ! -type d -name "$name" $n -print0; fi
		set +f
	done
}
`

const tarScript = listScript + `command -v tar >/dev/null || { echo "the image has no tar" >&2; exit 4; }
if tar --version 2>/dev/null | grep -q GNU; then list "$@" | tar -cf - --format=posix --no-recursion --null -T - 2>/dev/null
else
	l=` + guestDir + `/list.$$
	list "$@" | tr '\0' '\n' >$l
	[ -s $l ] && tar -cf - -T $l 2>/dev/null
	rm -f $l
fi
[ "$n" ] && rm -f $r
exit 0
`

const namesScript = listScript + `list "$@"
[ "$n" ] && rm -f $r
exit 0
`

// clearScript removes the files of a NUL list.
const clearScript = `cd "$1" || exit 0
[ "$(pwd -P)" = "$1" ] || exit 5
xargs -0 rm -f --
`

// searches are the arguments of listScript for a pick. They find all that it names, and some more.
func searches(p runner.Pick) []string {
	var args []string
	for _, pattern := range p.Patterns {
		for strings.HasPrefix(pattern, "./") {
			pattern = strings.TrimLeft(pattern[2:], "/")
		}
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		parts := strings.Split(pattern, "/")
		fixed := 0
		for fixed < len(parts)-1 && !strings.ContainsAny(parts[fixed], `*?[{\`) {
			fixed++
		}
		where, deep, name := ".", "", "*"
		if fixed > 0 {
			where = path.Join(parts[:fixed]...)
		}
		if !strings.ContainsAny(pattern, `{\`) && !strings.Contains(pattern, "[") {
			if !strings.Contains(pattern, "**") {
				deep = "-maxdepth " + strconv.Itoa(len(parts)-fixed)
			}
			if last := parts[len(parts)-1]; !strings.Contains(last, "**") {
				name = last
			}
		}
		args = append(args, where, deep, name)
	}
	return args
}

func (s *Session) listing(machine string, p runner.Pick, kind, script string) talk {
	since := ""
	if !p.Since.IsZero() {
		since = strconv.FormatInt(p.Since.Unix()-1, 10)
	}
	return talk{machine: machine, script: script, args: append([]string{p.Base, since, kind}, searches(p)...), live: true}
}

// fetch brings what the pick may name out of a machine, below root under its path in the worktree.
func (s *Session) fetch(ctx context.Context, machine string, p runner.Pick, root *os.Root) error {
	worktree := s.record.Scope.Worktree
	if _, err := files.Matcher(worktree, p); err != nil {
		return err
	}
	rel, err := filepath.Rel(worktree, p.Base)
	if err != nil {
		return err
	}
	if rel != "." {
		if err := root.MkdirAll(rel, 0o700); err != nil {
			return err
		}
	}
	base, err := root.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer base.Close()
	r, w := io.Pipe()
	t := s.listing(machine, p, "", tarScript)
	t.out = w
	var code int
	sent := make(chan error, 1)
	go func() {
		var err error
		code, err = s.guests.talk(ctx, t)
		w.CloseWithError(err)
		sent <- err
	}()
	err = unpack(r, base, p.Limit)
	r.CloseWithError(err)
	if sendErr := <-sent; sendErr != nil {
		err = sendErr
	}
	if err == nil && code != 0 && code != 5 { // 5: the base is no folder of that name, as behind a symlink
		err = &runner.Error{
			Reason: fmt.Sprintf("files could not be collected from the machine %s: it needs a shell, find and tar (exit code %d)", machine, code),
			Cause:  runner.BackendFailed, Fix: "boxer run -- tar --version",
		}
	}
	return err
}

// written is when a file was written at the latest. A tar that knows whole seconds only, as busybox's does, would make
// one that a command has just written older than the command.
func written(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t.Add(time.Second - time.Nanosecond)
	}
	return t
}

// unpack makes what a stream holds, each as what it is. All of it is below root, whatever the names say, and none of
// it is trusted: it is looked at again as any worktree is.
func unpack(r io.Reader, root *os.Root, limit int64) error {
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return fmt.Errorf("the files from the machine: %w", err)
		}
		name := path.Clean(h.Name)
		if !filepath.IsLocal(name) || name == "." {
			continue
		}
		if err := entry(t, h, name, root, limit); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
}

func entry(t *tar.Reader, h *tar.Header, name string, root *os.Root, limit int64) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return nil // its folder is a link by now
		}
	}
	switch h.Typeflag {
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|fs.FileMode(h.Mode&0o111))
		if err != nil {
			return err
		}
		if limit > 0 && h.Size > limit {
			err = f.Truncate(h.Size) // it is left behind all the same, and its size says why
		} else {
			_, err = io.Copy(f, t)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return root.Chtimes(name, time.Time{}, written(h.ModTime))
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(path.Clean(h.Linkname), name)
	case tar.TypeFifo:
		return syscall.Mkfifo(filepath.Join(root.Name(), name), 0o600)
	}
	return nil
}

// Clear removes the files that the pick names in the named sandbox.
func (s *Session) Clear(ctx context.Context, name string, p runner.Pick) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	machine, private, err := s.place(ctx, name)
	if err != nil {
		return err
	}
	worktree := s.record.Scope.Worktree
	matches, err := files.Matcher(worktree, p)
	if err != nil {
		return err
	}
	if !private {
		root, err := os.OpenRoot(worktree)
		if err != nil {
			return err
		}
		defer root.Close()
		return files.Clear(ctx, root, worktree, p)
	}
	var out bytes.Buffer
	t := s.listing(machine, p, "f", namesScript)
	t.out = &out
	if code, err := s.guests.talk(ctx, t); err != nil || code != 0 {
		return s.at(err)
	}
	var doomed []string
	for f := range strings.SplitSeq(out.String(), "\x00") {
		if f = path.Clean(f); f != "." && matches(f) {
			doomed = append(doomed, f)
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	_, err = s.guests.talk(ctx, talk{
		machine: machine, script: clearScript, args: []string{p.Base}, out: io.Discard,
		in: func() io.Reader { return strings.NewReader(strings.Join(doomed, "\x00") + "\x00") },
	})
	return s.at(err)
}
