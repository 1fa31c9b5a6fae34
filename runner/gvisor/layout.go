//go:build linux

package gvisor

import (
	"fmt"
	"path/filepath"
)

// layout names the places of one scope's sandboxes, all in the keeper's private folder.
type layout struct {
	dir      string // the keeper's folder
	temp     string // runner.Dirs.Temp, which hides behind inside
	worktree string // where the worktree lies on the host and in every sandbox
}

// rootfs is / bound once more, with what is hidden covered: the root of every sandbox.
func (l layout) rootfs() string { return filepath.Join(l.dir, "rootfs") }

// inside stands in every sandbox where boxer's own temporary files are on the host. It holds the guest binary.
func (l layout) inside() string { return filepath.Join(l.dir, "inside") }

// binary is this program at a path that outlives what becomes of the file it was started from.
func (l layout) binary() string { return filepath.Join(l.inside(), "boxer") }

// guest is the path of the boxer binary in every sandbox. It is part of every checkpoint, so it must not change
// while the sandbox is up, though the binary on the host may be replaced or, with `go run`, be gone by then.
func (l layout) guest() string { return filepath.Join(l.temp, "boxer") }

// covers holds the empty files and folders that hidden paths are covered with.
func (l layout) covers() string { return filepath.Join(l.dir, "covers") }

// live is the real worktree as a sandbox gets it.
func (l layout) live() string { return filepath.Join(l.dir, "worktree") }

// private is where the overlay of sandbox id is mounted, upper what it wrote, work what overlayfs needs beside it.
func (l layout) private(id int) string { return l.of(id, "worktree") }
func (l layout) upper(id int) string   { return l.of(id, "upper") }
func (l layout) work(id int) string    { return l.of(id, "work") }

// bundle is the folder of a sandbox's specification.
func (l layout) bundle(id int) string { return l.of(id, "bundle") }

func (l layout) of(id int, what string) string { return filepath.Join(l.sandbox(id), what) }

// sandbox holds everything of one sandbox that goes away with it.
func (l layout) sandbox(id int) string { return filepath.Join(l.dir, "sandboxes", fmt.Sprint(id)) }

// seed is the pack's part of the root file system, as gVisor takes it.
func (l layout) seed() string { return filepath.Join(l.dir, "seed.tar") }

func (l layout) image(n int) string { return filepath.Join(l.dir, imagesDir, fmt.Sprint(n)) }

// imagesDir holds the checkpoints, below the keeper's folder.
const imagesDir = "images"
