package smolvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// manifest is what the real worktree looked like when the parent's copy was last brought up to date.
type manifest map[string]stamp

// stamp tells whether a file has changed.
type stamp struct {
	Mode fs.FileMode
	Size int64  `json:",omitempty"`
	Time int64  `json:",omitempty"` // of the last change, in nanoseconds
	Link string `json:",omitempty"`
}

const (
	manifestFile = "worktree.json"
	reportFolder = "boxer-report" // boxer's own, which changes with every run
)

// survey looks at every file of the worktree, but for what is excluded. Sockets and the like are not copied.
func survey(ctx context.Context, root string, exclude []string) (manifest, error) {
	m := manifest{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil && d != nil && d.IsDir() && rel != ".":
			return fs.SkipDir // what cannot be read here cannot be read there
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case rel == ".":
			return nil
		case excluded(rel, exclude):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone meanwhile
		}
		s := stamp{Mode: info.Mode()}
		switch info.Mode().Type() {
		case 0:
			s.Size, s.Time = info.Size(), info.ModTime().UnixNano()
		case fs.ModeSymlink:
			if s.Link, err = os.Readlink(name); err != nil {
				return nil
			}
		case fs.ModeDir:
		default:
			return nil
		}
		m[rel] = s
		return nil
	})
	return m, err
}

// excluded tells whether a pattern names the file: one without a slash names it in any folder.
func excluded(rel string, patterns []string) bool {
	for _, p := range append([]string{reportFolder}, patterns...) {
		p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
		name := rel
		if !strings.Contains(p, "/") {
			name = path.Base(rel)
		}
		if ok, _ := path.Match(strings.TrimPrefix(p, "/"), name); ok {
			return true
		}
	}
	return false
}

// difference is what must be copied, parents first, and what must be removed, children first.
func difference(old, now manifest) (changed, gone []string) {
	for name, s := range now {
		if was, ok := old[name]; !ok || was != s {
			changed = append(changed, name)
		}
		if was, ok := old[name]; ok && was.Mode.Type() != now[name].Mode.Type() {
			gone = append(gone, name)
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(gone)
	slices.Reverse(gone)
	return changed, gone
}

// refresh brings the parent's own copy of the worktree up to date: what changed in the real one since the last time is
// copied inside the machine. What only the copy has stays.
func (s *Session) refresh(ctx context.Context, spec runner.Spec) error {
	root := s.record.Scope.Worktree
	file := filepath.Join(s.record.Dir, manifestFile)
	old := manifest{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, err := survey(ctx, root, spec.Machine.Exclude)
	if err != nil {
		return err
	}
	changed, gone := difference(old, now)
	if err := s.apply(ctx, gone, removeScript, root); err != nil {
		return err
	}
	if len(old) == 0 { // else the folder is there
		changed = append([]string{"."}, changed...)
	}
	if err := s.apply(ctx, changed, copyScript, asideDir, root); err != nil {
		return err
	}
	if text, err = json.Marshal(now); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// apply has a script work on a list of files.
func (s *Session) apply(ctx context.Context, names []string, script string, args ...string) error {
	if len(names) == 0 {
		return nil
	}
	var out strings.Builder
	code, err := s.guests.talk(ctx, talk{
		machine: s.key(), script: script, args: args, out: &out,
		in: func() io.Reader { return strings.NewReader(strings.Join(names, "\x00") + "\x00") },
	})
	if err != nil || code == 0 {
		return err
	}
	return &runner.Error{
		Reason: fmt.Sprintf("the worktree could not be copied into the machine (exit code %d)", code), Cause: runner.BackendFailed,
		Fix: "boxer doctor", Output: runner.LastLines([]byte(out.String())),
	}
}

// copyScript copies the files of a NUL list from one folder into another. A tar that reads no NUL list gets lines, and
// folders from mkdir.
const copyScript = `exec 2>&1
command -v tar >/dev/null || { echo "the image has no tar"; exit 4; }
mkdir -p "$2" && cd "$1" || exit 4
[ -d ` + guestDir + ` ] || mkdir -m 1777 ` + guestDir + `
r=` + guestDir + `/copied.$$
if tar --version 2>/dev/null | grep -q GNU; then
	{ tar -cf - --no-recursion --null -T -; echo $? >$r; } | tar -xpf - -C "$2" || exit 4
else
	tr '\0' '\n' >$r.list
	while IFS= read -r f; do [ -d "$f" ] && [ ! -L "$f" ] && mkdir -p "$2/$f"; done <$r.list
	while IFS= read -r f; do [ -d "$f" ] && [ ! -L "$f" ] || echo "$f"; done <$r.list >$r.files
	{ if [ -s $r.files ]; then tar -cf - -T $r.files; else tar -cf - -T /dev/null; fi; echo $? >$r; } | tar -xpf - -C "$2" 2>/dev/null || [ ! -s $r.files ] || exit 4
	[ -s $r.files ] || echo 0 >$r
fi
c=$(cat $r)
rm -f $r $r.list $r.files
exit $c
`

// removeScript removes the files of a NUL list, and those folders that are empty then.
const removeScript = `exec 2>&1
cd "$1" || exit 0
tr '\0' '\n' | while IFS= read -r f; do
	if [ -d "$f" ] && [ ! -L "$f" ]; then rmdir "$f" 2>/dev/null; else rm -f "$f"; fi
done
exit 0
`

// commonGitDir finds the git folder that a linked worktree shares with its main one; "" where .git is a folder of
// the worktree's own, or there is none.
// https://git-scm.com/docs/gitrepository-layout (commondir)
func commonGitDir(worktree string) (string, error) {
	text, err := os.ReadFile(filepath.Join(worktree, ".git"))
	dir, linked := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !linked {
		return "", nil // a folder, or nothing; a broken one is the user's to mend
	}
	within := func(base, path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(base, path)
	}
	dir = within(worktree, dir)
	if common, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dir = within(dir, strings.TrimSpace(string(common)))
	}
	if _, err := os.Stat(dir); err != nil {
		return "", nil
	}
	return filepath.EvalSymlinks(dir)
}
