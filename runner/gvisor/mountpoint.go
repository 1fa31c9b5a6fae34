//go:build linux

package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// mostBeside is how many names may lie beside a mount point that the host does not have.
const mostBeside = 1000

// mountPoints makes the folders that the spec's mounts need and the host does not have. gVisor would make them itself,
// but on the host, where they would stay: so the folder that they are to lie in is replaced by one of the keeper's,
// with everything in it that the host's has.
func (m *mounter) mountPoints(targets []string) error {
	slices.Sort(targets)
	ours := []string{"/tmp", "/dev", "/proc", "/sys", m.worktree} // not the host's, or all of it shared with it
	ours = append(ours, m.hidden...)
	var replaced []string
	for _, target := range targets {
		above := filepath.Dir(target)
		for ; above != "/"; above = filepath.Dir(above) {
			if _, err := os.Lstat(filepath.Join(m.rootfs(), above)); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		_, err := os.Lstat(filepath.Join(m.rootfs(), target))
		if err == nil || slices.ContainsFunc(ours, func(o string) bool { return contains(o, target) }) {
			ours = append(ours, target)
			continue
		}
		if !slices.Contains(replaced, above) {
			if err := m.replace(above); err != nil {
				return fmt.Errorf("make a mount point for %s: %w", target, err)
			}
			replaced = append(replaced, above)
		}
		if err := os.MkdirAll(filepath.Join(m.rootfs(), target), 0o755); err != nil {
			return err
		}
		ours = append(ours, target)
	}
	return nil
}

// replace puts a folder of the keeper's over the host's at path. Each name in it leads to the host's.
func (m *mounter) replace(path string) error {
	old := filepath.Join(m.rootfs(), path)
	names, err := os.ReadDir(old)
	if err != nil {
		return err
	}
	if len(names) > mostBeside {
		return fmt.Errorf("there are %d names in %s", len(names), path)
	}
	dir, err := m.empty(true)
	if err != nil {
		return err
	}
	if info, err := os.Stat(old); err == nil {
		if err := os.Chmod(dir, info.Mode()); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := lead(filepath.Join(dir, name.Name()), filepath.Join(old, name.Name()), name.Type()); err != nil {
			return err
		}
	}
	return bind(dir, old)
}

// lead makes a name that is the same as the one at to.
func lead(from, to string, kind fs.FileMode) error {
	switch kind {
	case fs.ModeSymlink:
		text, err := os.Readlink(to)
		if err != nil {
			return err
		}
		return os.Symlink(text, from)
	case fs.ModeDir:
		if err := os.Mkdir(from, 0o755); err != nil {
			return err
		}
	default:
		if err := touch(from, 0o644); err != nil {
			return err
		}
	}
	return bind(to, from)
}
