//go:build linux

package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mounter makes the mounts of one keeper, all in its own namespace, where they end with it.
type mounter struct {
	layout
	targets []string // of the spec's own mounts
	user    bool     // in a user namespace, where overlayfs keeps its marks in user attributes
	hidden  []string // sorted
}

// root builds the tree that serves as / of every sandbox: the host's, the hidden places covered, and boxer's own
// binary where its temporary files are. removed lists the covered files, which init deletes in the sandbox's own
// copy, so that they are not even there as empty ones.
func (m *mounter) root(exe string) error {
	for _, dir := range []string{m.rootfs(), m.inside(), m.covers(), m.live()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(touch(m.binary(), 0o755), bind(exe, m.binary())); err != nil {
		return err
	}
	if err := unix.Mount("/", m.rootfs(), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind / for the sandboxes: %w", err)
	}
	if err := m.emptyTmp(); err != nil {
		return err
	}
	if err := m.mountPoints(m.targets); err != nil {
		return err
	}
	removed := []string{"/tmp/" + tmpMark}
	for _, path := range m.hidden {
		if contains(m.worktree, path) {
			continue // lies in the worktree, whose mounts are covered one by one
		}
		file, err := m.cover(m.rootfs(), path)
		if err != nil {
			return err
		}
		if file {
			removed = append(removed, path)
		}
	}
	if err := m.commonGit(); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(m.inside(), "remove"), removed); err != nil {
		return err
	}
	return m.bindInside(m.inside(), m.temp)
}

// tmpMark keeps gVisor from putting a file system in memory over a /tmp that it finds empty: what tests write there
// would then be copied into the memory of every child.
const tmpMark = ".boxer"

func (m *mounter) emptyTmp() error {
	tmp := filepath.Join(m.covers(), "tmp")
	err := errors.Join(os.Mkdir(tmp, 0o700), os.Chmod(tmp, 0o777|fs.ModeSticky), touch(filepath.Join(tmp, tmpMark), 0o644))
	if err != nil {
		return err
	}
	return bind(tmp, filepath.Join(m.rootfs(), "tmp"))
}

// cover puts an empty folder or file over path below base. What is no folder counts as a file.
func (m *mounter) cover(base, path string) (file bool, err error) {
	target := filepath.Join(base, path)
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // covered with its parent
	} else if err != nil {
		return false, fmt.Errorf("hide %s: %w", path, err)
	}
	empty, err := m.empty(info.IsDir())
	if err == nil {
		err = bind(empty, target)
	}
	if err != nil {
		return false, fmt.Errorf("hide %s: %w", path, err)
	}
	return !info.IsDir(), nil
}

// empty makes a new empty folder or file for covering.
func (m *mounter) empty(folder bool) (string, error) {
	if folder {
		dir, err := os.MkdirTemp(m.covers(), "")
		return dir, errors.Join(err, os.Chmod(dir, 0o755))
	}
	f, err := os.CreateTemp(m.covers(), "")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// bindInside binds source at path of the sandboxes' root, where a cover may have hidden the folder.
func (m *mounter) bindInside(source, path string) error {
	target := filepath.Join(m.rootfs(), path)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	return bind(source, target)
}

// commonGit shows the folder that a linked git worktree shares with its main one, in case it was hidden with it, and
// covers its configuration.
func (m *mounter) commonGit() error {
	common, err := commonGitDir(m.worktree)
	if err != nil || common == "" || contains(m.worktree, common) {
		return err
	}
	if err := m.bindInside(common, common); err != nil {
		return err
	}
	return m.coverGitConfig(filepath.Join(m.rootfs(), common))
}

// coverGitConfig puts a copy without credentials over the configuration in the git folder.
func (m *mounter) coverGitConfig(git string) error {
	config := filepath.Join(git, "config")
	text, err := os.ReadFile(config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	clean, err := m.empty(false)
	if err == nil {
		err = os.WriteFile(clean, withoutCredentials(text), 0o600)
	}
	if err == nil {
		err = errors.Join(os.Chmod(clean, 0o644), bind(clean, config))
	}
	return err
}

// liveWorktree makes the tree that a sandbox with the real worktree gets: writes go to the host, except to .git,
// where they could plant code that the host runs later.
func (m *mounter) liveWorktree() error {
	if err := bind(m.worktree, m.live()); err != nil {
		return err
	}
	git := filepath.Join(m.live(), ".git")
	if info, err := os.Lstat(git); err == nil && info.IsDir() {
		if err := errors.Join(bind(git, git), readOnly(git)); err != nil {
			return fmt.Errorf("make .git read-only: %w", err)
		}
	}
	return m.finishWorktree(m.live())
}

// privateWorktree makes the tree of sandbox id: what lies in below, last one lowest, and on top what it writes itself.
func (m *mounter) privateWorktree(id int, below ...string) (string, error) {
	target := m.private(id)
	for _, dir := range []string{target, m.upper(id), m.work(id)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	if info, err := os.Stat(m.worktree); err == nil {
		if err := os.Chmod(m.upper(id), info.Mode().Perm()); err != nil {
			return "", err
		}
	}
	for i, dir := range below {
		below[i] = escapeOverlay(dir)
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s",
		strings.Join(below, ":"), escapeOverlay(m.upper(id)), escapeOverlay(m.work(id)))
	if m.user {
		data += ",userxattr"
	}
	if err := unix.Mount("overlay", target, "overlay", 0, data); err != nil {
		return "", fmt.Errorf("mount an overlay over the worktree: %w", err)
	}
	return target, m.finishWorktree(target)
}

// finishWorktree covers what must not be seen in a worktree's tree.
func (m *mounter) finishWorktree(tree string) error {
	for _, path := range m.hidden {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(m.worktree, "/")+"/"); ok {
			if _, err := m.cover(tree, rest); err != nil {
				return err
			}
		}
	}
	if info, err := os.Lstat(filepath.Join(tree, ".git")); err != nil || !info.IsDir() {
		return nil
	}
	return m.coverGitConfig(filepath.Join(tree, ".git"))
}

// overlayWorks tries whether the kernel's overlayfs can have its upper folder where boxer's files are: it cannot
// where those lie on another overlay, as a container's root does.
func (m *mounter) overlayWorks() bool {
	const trial = -1
	_, err := m.privateWorktree(trial, m.worktree)
	return errors.Join(err, m.removeSandbox(trial)) == nil
}

// removeSandbox unmounts and removes the files of one sandbox.
func (m *mounter) removeSandbox(id int) error {
	if err := unix.Unmount(m.private(id), unix.MNT_DETACH); err != nil &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) { // not mounted, not there
		return fmt.Errorf("unmount %s: %w", m.private(id), err)
	}
	// overlayfs leaves a folder with mode 000 that an ordinary user could not look into.
	if err := os.Chmod(filepath.Join(m.work(id), "work"), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(m.sandbox(id))
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s at %s: %w", source, target, err)
	}
	return nil
}

// readOnly makes a bind mount read-only, and keeps the flags that a user namespace may not take away.
func readOnly(target string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(target, &fs); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY)
	for st, ms := range map[int64]uintptr{
		unix.ST_NOSUID: unix.MS_NOSUID, unix.ST_NODEV: unix.MS_NODEV, unix.ST_NOEXEC: unix.MS_NOEXEC,
		unix.ST_NOATIME: unix.MS_NOATIME, unix.ST_NODIRATIME: unix.MS_NODIRATIME, unix.ST_RELATIME: unix.MS_RELATIME,
	} {
		if fs.Flags&st != 0 {
			flags |= ms
		}
	}
	return unix.Mount("", target, "", flags, "")
}

// escapeOverlay protects what separates the folders in overlayfs's options.
// https://docs.kernel.org/filesystems/overlayfs.html
func escapeOverlay(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace(path)
}

func touch(path string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	return f.Close()
}

func writeLines(path string, lines []string) error {
	return os.WriteFile(path, []byte(strings.Join(lines, "\x00")), 0o644)
}
