//go:build linux

package gvisor

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
)

var here = border{
	worktree: "/src/shop",
	hidden:   []string{"/home/me/.ssh", "/home/me/.npmrc", "/src/other", "/src/shop/secrets/deep", "/src"},
	own:      []string{"/proc", "/tmp/boxer-services", "/etc/machine-id", "/var/tmp/boxer-0", "/src/shop/.git"},
	kept:     []string{"/src/shop", "/var/tmp/boxer-0", "/tmp"},
}

func entry(kind byte, part, path string) pack.Entry {
	return pack.Entry{Header: &tar.Header{Typeflag: kind, Name: part + "/" + path}, Part: part, Path: path}
}

func TestBorder(t *testing.T) {
	t.Parallel()
	linked := entry(tar.TypeLink, pack.Root, "var/twin")
	linked.Link = "home/me/.npmrc"
	for _, c := range []struct {
		e      pack.Entry
		passes bool
		secret string
	}{
		{entry(tar.TypeReg, pack.Root, "var/lib/app"), true, ""},
		{entry(tar.TypeDir, pack.Root, ""), true, ""},
		{entry(tar.TypeDir, pack.Root, "home/me"), true, ""},
		{entry(tar.TypeReg, pack.Root, "home/me/.ssh/id"), false, "/home/me/.ssh"},
		{entry(tar.TypeReg, pack.Root, "home/me/.sshd"), true, ""},
		{entry(tar.TypeReg, pack.Root, "home/me/.npmrc"), false, "/home/me/.npmrc"},
		{linked, false, "/home/me/.npmrc"},
		{entry(tar.TypeReg, pack.Root, "etc/machine-id"), false, ""},
		{entry(tar.TypeReg, pack.Root, "tmp/boxer-services/db.log"), false, ""},
		{entry(tar.TypeDir, pack.Root, "src/shop"), false, ""},
		{entry(tar.TypeReg, pack.Root, "src/shop/a"), false, ""},
		{entry(tar.TypeReg, pack.Worktree, "a"), true, ""}, // though /src is hidden: the worktree shows all the same
		{entry(tar.TypeReg, pack.Worktree, "secrets/deep/key"), false, "/src/shop/secrets/deep"},
		{entry(tar.TypeReg, pack.Worktree, ".git/config"), false, ""},
		{entry(tar.TypeReg, pack.Worktree, ".gitignore"), true, ""},
	} {
		if ok, secret := here.passes(c.e); ok != c.passes || secret != c.secret {
			t.Errorf("%s: %v, %q", c.e.Name, ok, secret)
		}
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	opaque := func(part, path string) pack.Entry {
		e := entry(tar.TypeDir, part, path)
		e.PAXRecords = map[string]string{pack.Opaque: "y"}
		return e
	}
	for _, c := range []struct {
		name string
		e    pack.Entry
		fits bool
	}{
		{"a folder above the worktree", entry(tar.TypeDir, pack.Root, "src"), true},
		{"that folder deleted", entry(tar.TypeChar, pack.Root, "src"), false},
		{"that folder as a link", entry(tar.TypeSymlink, pack.Root, "src"), false},
		{"that folder emptied", opaque(pack.Root, "src"), false},
		{"everything emptied", opaque(pack.Root, ""), false},
		{"boxer's own folder emptied", opaque(pack.Root, "var/tmp/boxer-0"), false},
		{"another folder emptied", opaque(pack.Root, "var/lib"), true},
		{"a file", entry(tar.TypeReg, pack.Root, "var/x"), true},
		{"the worktree emptied", opaque(pack.Worktree, ""), false},
		{"a folder above a hidden one as a link", entry(tar.TypeSymlink, pack.Worktree, "secrets"), false},
		{"that folder deleted, which hides the more", entry(tar.TypeChar, pack.Worktree, "secrets"), true},
		{"that folder emptied, too", opaque(pack.Worktree, "secrets"), true},
		{"a link beside it", entry(tar.TypeSymlink, pack.Worktree, "other"), true},
	} {
		err := here.fits(c.e)
		if (err == nil) != c.fits || (err != nil && runner.CauseOf(err) != runner.PackUnfit) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// gVisor writes one mark of deletion under many names, as links to the first. The first may be one that must stay out,
// and the others count all the same.
func TestDeletionsDoNotDependOnTheFirst(t *testing.T) {
	t.Parallel()
	var upper, out bytes.Buffer
	w := tar.NewWriter(&upper)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "./"}, {Typeflag: tar.TypeDir, Name: "./etc/"},
		{Typeflag: tar.TypeChar, Name: "./etc/machine-id"},
		{Typeflag: tar.TypeLink, Name: "./etc/motd", Linkname: "./etc/machine-id"},
		{Typeflag: tar.TypeLink, Name: "./etc/issue", Linkname: "./etc/machine-id"},
		{Typeflag: tar.TypeChar, Name: "./etc/null", Devmajor: 1, Devminor: 3},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	p := &packer{border: here, w: tar.NewWriter(&out), secrets: map[string]bool{}, seen: map[string]bool{}}
	if err := p.readRoot(tar.NewReader(&upper)); err != nil {
		t.Fatal(err)
	}
	p.w.Close()
	var got []string
	for r := pack.NewEntryReader(&out); ; {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Name, " ", e.Deleted()))
	}
	if want := "root/ false; root/etc/ false; root/etc/motd true; root/etc/issue true"; strings.Join(got, "; ") != want {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
	if p.root.Entries != 4 || len(p.secrets) > 0 {
		t.Errorf("%+v, %v", p.root, p.secrets)
	}
}

// What is read from an upper folder is put into the next as it was.
func TestWorktreeGoesThroughAPack(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	then := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(from, "a/b"), 0o755))
	must(os.Chmod(filepath.Join(from, "a/b"), 0o750))
	must(os.WriteFile(filepath.Join(from, "a/b/c"), []byte("text"), 0o640))
	must(os.Chtimes(filepath.Join(from, "a/b/c"), then, then))
	must(os.Link(filepath.Join(from, "a/b/c"), filepath.Join(from, "twin")))
	must(os.Symlink("../nowhere", filepath.Join(from, "a/way")))
	must(os.MkdirAll(filepath.Join(from, "secrets/deep"), 0o755))
	must(os.WriteFile(filepath.Join(from, "secrets/deep/key"), nil, 0o600))
	must(os.MkdirAll(filepath.Join(from, ".git"), 0o755))

	var stream bytes.Buffer
	p := &packer{border: here, w: tar.NewWriter(&stream), secrets: map[string]bool{}, seen: map[string]bool{}}
	must(p.worktreeOf(t.Context(), from))
	must(p.w.Close())
	if got := p.packed(); got.Worktree.Bytes != 4 || !slices.Equal(got.LeftOut, []string{"/src/shop/secrets/deep"}) {
		t.Errorf("%+v, %v", got.Worktree, got.LeftOut)
	}

	root, err := os.OpenRoot(to)
	must(err)
	defer root.Close()
	u := unpacker{border: here, worktree: root, user: os.Getuid() != 0, private: true}
	must(u.all(pack.NewEntryReader(&stream)))
	one, err := os.Stat(filepath.Join(to, "a/b/c"))
	must(err)
	two, err := os.Stat(filepath.Join(to, "twin"))
	must(err)
	text, _ := os.ReadFile(filepath.Join(to, "twin"))
	if string(text) != "text" || !os.SameFile(one, two) || one.Mode() != 0o640 || !one.ModTime().Equal(then) {
		t.Errorf("%q, the same file: %v, %s, %s", text, os.SameFile(one, two), one.Mode(), one.ModTime())
	}
	if way, err := os.Readlink(filepath.Join(to, "a/way")); way != "../nowhere" {
		t.Errorf("%q, %v", way, err)
	}
	if info, err := os.Stat(filepath.Join(to, "a/b")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info, err)
	}
	for _, name := range []string{".git", "secrets/deep"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

func TestPackWithoutAWorktreeMayNotBringOne(t *testing.T) {
	t.Parallel()
	var stream, seed bytes.Buffer
	w := tar.NewWriter(&stream)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "worktree/"})
	w.Close()
	u := unpacker{border: here, seed: tar.NewWriter(&seed)}
	if err := u.all(pack.NewEntryReader(&stream)); runner.CauseOf(err) != runner.PackDamaged {
		t.Errorf("%v", err)
	}
}

func TestOwnerHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		uid  int
		user bool
		want int
	}{
		{nobody, false, os.Getuid()}, {nobody, true, os.Getuid()}, {0, true, os.Getuid()}, {105, true, 105}, {105, false, 105},
	} {
		h := &tar.Header{Uid: c.uid}
		unpacker{user: c.user}.ownerHere(h, dir)
		if h.Uid != c.want {
			t.Errorf("%+v: %d", c, h.Uid)
		}
	}
	h := &tar.Header{Uid: nobody}
	if (unpacker{}).ownerHere(h, filepath.Join(dir, "none")); h.Uid != nobody {
		t.Errorf("a folder that this host does not have: %d", h.Uid)
	}
}
