package files_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/files"
)

// tree is a folder with files of their own names as content; a name that ends in "/" is a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			write(t, p, name)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// collect takes the pick through Tar and Untar.
func collect(t *testing.T, dir string, p runner.Pick) (names []string, skipped map[string]string, dest string) {
	t.Helper()
	if p.Base == "" {
		p.Base = dir
	}
	var b bytes.Buffer
	skips, err := files.Tar(t.Context(), rootOf(t, dir), dir, p, &b)
	if err != nil {
		t.Fatal(err)
	}
	dest = t.TempDir()
	names, err = files.Untar(&b, rootOf(t, dest), p.Limit)
	if err != nil {
		t.Fatal(err)
	}
	skipped = map[string]string{}
	for _, s := range skips {
		skipped[s.Path] = s.Reason
	}
	return names, skipped, dest
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	dir := tree(t, "junit.xml", "junit-2.xml", "a/junit.xml", "reports/a.xml", "reports/deep/er/b.xml", "reports/c.txt",
		".hidden/x.xml", "with space/ä.xml", "empty/")
	for pattern, want := range map[string][]string{
		"junit*.xml":              {"junit-2.xml", "junit.xml"},
		"./junit.xml":             {"junit.xml"},
		"reports/**/*.xml":        {"reports/a.xml", "reports/deep/er/b.xml"},
		"reports/*/*.xml":         nil,
		"reports/":                {"reports/a.xml", "reports/c.txt", "reports/deep/er/b.xml"},
		"**/junit.xml":            {"a/junit.xml", "junit.xml"},
		"{a,reports}/*.xml":       {"a/junit.xml", "reports/a.xml"},
		"{a/junit,reports/a}.xml": {"a/junit.xml", "reports/a.xml"},
		"reports/[ac].*":          {"reports/a.xml", "reports/c.txt"},
		"with space/*.xml":        {"with space/ä.xml"},
		".hidden/*":               {".hidden/x.xml"},
		"reports":                 nil, // a folder is no file
		"none/**":                 nil,
	} {
		names, skipped, dest := collect(t, dir, runner.Pick{Patterns: []string{pattern}})
		if !slices.Equal(names, want) || len(skipped) > 0 {
			t.Errorf("%s: %q, skipped %v; want %q", pattern, names, skipped, want)
		}
		for _, name := range names {
			if b, err := os.ReadFile(filepath.Join(dest, name)); err != nil || string(b) != name {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}

func TestSeveralPatternsBringAFileOnceAndPathsAreRelativeToBase(t *testing.T) {
	t.Parallel()
	dir := tree(t, "web/reports/a.xml", "reports/b.xml")
	names, _, _ := collect(t, dir, runner.Pick{Base: filepath.Join(dir, "web"), Patterns: []string{"**/*.xml", "reports/*"}})
	if !slices.Equal(names, []string{"reports/a.xml"}) {
		t.Errorf("%q", names)
	}
	names, _, _ = collect(t, dir, runner.Pick{Base: filepath.Join(dir, "not", "there"), Patterns: []string{"**"}})
	if len(names) > 0 {
		t.Errorf("%q", names)
	}
}

func TestWhatLeavesTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := tree(t, "in/a.xml", "secret")
	in := filepath.Join(dir, "in")
	if err := os.Symlink("..", filepath.Join(in, "up")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []runner.Pick{
		{Base: in, Patterns: []string{"../secret"}},
		{Base: in, Patterns: []string{"a/../../secret"}},
		{Base: in, Patterns: []string{"/etc/passwd"}},
		{Base: dir, Patterns: []string{"secret"}},
		{Base: filepath.Join(in, ".."), Patterns: []string{"secret"}},
		{Base: filepath.Join(in, "up"), Patterns: []string{"secret"}}, // a symlink that leaves
	} {
		_, err := files.Tar(t.Context(), rootOf(t, in), in, p, new(bytes.Buffer))
		if err == nil {
			t.Errorf("%+v was not refused", p)
		}
		if !strings.HasSuffix(p.Base, "up") && runner.CauseOf(err) != files.Outside {
			t.Errorf("%+v: %v", p, err)
		}
		if err := files.Clear(t.Context(), rootOf(t, in), in, p); err == nil {
			t.Errorf("clear of %+v was not refused", p)
		}
	}
	// A ".." that only shows when the pattern is spelled out matches nothing.
	if names, _, _ := collect(t, in, runner.Pick{Patterns: []string{"{..,a}/*"}}); len(names) > 0 {
		t.Errorf("%q", names)
	}
	if _, err := files.Tar(t.Context(), rootOf(t, in), in, runner.Pick{Base: in, Patterns: []string{"[a"}}, new(bytes.Buffer)); err == nil {
		t.Error("a bad pattern was not refused")
	}
}

func TestOddFilesAreNamedAndLeftBehind(t *testing.T) {
	t.Parallel()
	dir := tree(t, "secret", "w/good.xml", "w/real/x.xml")
	w := filepath.Join(dir, "w")
	for _, err := range []error{
		os.Symlink("../secret", filepath.Join(w, "link.xml")),
		os.Symlink("good.xml", filepath.Join(w, "inside.xml")),
		os.Symlink("real", filepath.Join(w, "reports")),
		os.Symlink("nowhere", filepath.Join(w, "other")), // no pattern names it
		syscall.Mkfifo(filepath.Join(w, "fifo.xml"), 0o644),
		os.Link(filepath.Join(dir, "secret"), filepath.Join(w, "hard.xml")),
		os.Mkdir(filepath.Join(w, "folder.xml"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	names, skipped, _ := collect(t, w, runner.Pick{Patterns: []string{"*.xml", "reports/**/*.xml"}})
	if !slices.Equal(names, []string{"good.xml"}) {
		t.Errorf("%q", names)
	}
	want := map[string]string{
		"link.xml": "symlink", "inside.xml": "symlink", "reports": "symlink", "fifo.xml": "named pipe", "hard.xml": "hard link",
	}
	if fmt.Sprint(skipped) != fmt.Sprint(want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
}

func TestUnreadableIsNamed(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything: run as an ordinary user")
	}
	dir := tree(t, "a.xml", "d/b.xml")
	os.Chmod(filepath.Join(dir, "a.xml"), 0)
	os.Chmod(filepath.Join(dir, "d"), 0)
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "d"), 0o755) })
	names, skipped, _ := collect(t, dir, runner.Pick{Patterns: []string{"**/*.xml"}})
	if len(names) > 0 || len(skipped) != 2 {
		t.Errorf("%q, %v", names, skipped)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	dir := tree(t, "old.xml")
	start := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "old.xml"), start, start.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "new.xml"), "new")
	if names, _, _ := collect(t, dir, runner.Pick{Patterns: []string{"*"}, Since: start}); !slices.Equal(names, []string{"new.xml"}) {
		t.Errorf("%q", names)
	}
}

func TestLimitNamesWhatIsOver(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	write(t, filepath.Join(dir, "a"), strings.Repeat("a", 60))
	write(t, filepath.Join(dir, "b"), strings.Repeat("b", 60))
	write(t, filepath.Join(dir, "c"), strings.Repeat("c", 40))
	names, skipped, _ := collect(t, dir, runner.Pick{Patterns: []string{"*"}, Limit: 100})
	if !slices.Equal(names, []string{"a", "c"}) || skipped["b"] != "over the limit of 100 bytes in all" {
		t.Errorf("%q, %v", names, skipped)
	}
}

func TestBigFilesKeepBytesModeAndTime(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	p := filepath.Join(dir, "big")
	if err := os.WriteFile(p, big, 0o700); err != nil {
		t.Fatal(err)
	}
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	os.Chtimes(p, when, when)
	_, _, dest := collect(t, dir, runner.Pick{Patterns: []string{"big"}})
	got, err := os.ReadFile(filepath.Join(dest, "big"))
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	info, err := os.Stat(filepath.Join(dest, "big"))
	if err != nil || info.Mode().Perm()&0o111 == 0 || !info.ModTime().Equal(when) {
		t.Errorf("%v, %v", info, err)
	}
}

// shrinker cuts the file off as soon as its content begins to flow.
type shrinker struct {
	bytes.Buffer
	path string
}

func (s *shrinker) Write(b []byte) (int, error) {
	os.Truncate(s.path, 100)
	return s.Buffer.Write(b)
}

func TestAFileThatShrinksIsNamedAndTheStreamStaysWhole(t *testing.T) {
	t.Parallel()
	dir := tree(t, "z.xml")
	p := filepath.Join(dir, "big")
	write(t, p, strings.Repeat("x", 3<<20))
	s := &shrinker{path: p}
	skipped, err := files.Tar(t.Context(), rootOf(t, dir), dir, runner.Pick{Base: dir, Patterns: []string{"*"}}, s)
	if err != nil || len(skipped) != 1 || skipped[0].Path != "big" {
		t.Fatalf("%v, %v", skipped, err)
	}
	names, err := files.Untar(s, rootOf(t, t.TempDir()), 0)
	if err != nil || !slices.Equal(names, []string{"big", "z.xml"}) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a.xml", "sub/b.xml", "c.txt", "outside")
	w := filepath.Join(dir, "sub")
	os.Symlink("../outside", filepath.Join(w, "l.xml"))
	if err := files.Clear(t.Context(), rootOf(t, dir), dir, runner.Pick{Base: dir, Patterns: []string{"**/*.xml"}}); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"a.xml": false, "sub/b.xml": false, "c.txt": true, "sub/l.xml": true, "outside": true} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := files.Clear(t.Context(), rootOf(t, dir), dir, runner.Pick{Base: dir, Patterns: []string{"**/*.xml"}}); err != nil {
		t.Error(err)
	}
}

func TestUntarWritesNothingElseAndNowhereElse(t *testing.T) {
	t.Parallel()
	for _, h := range []tar.Header{
		{Name: "../x", Typeflag: tar.TypeReg},
		{Name: "/x", Typeflag: tar.TypeReg},
		{Name: "a/../x", Typeflag: tar.TypeReg},
		{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "x", Typeflag: tar.TypeLink, Linkname: "y"},
		{Name: "x", Typeflag: tar.TypeFifo},
		{Name: "x/", Typeflag: tar.TypeDir},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&h)
		w.Close()
		dest := t.TempDir()
		if _, err := files.Untar(&b, rootOf(t, dest), 0); err == nil {
			t.Errorf("%+v was unpacked", h)
		}
		if left, _ := os.ReadDir(dest); len(left) > 0 {
			t.Errorf("%+v left %v", h, left)
		}
	}
}

func TestUntarDoesNotWriteThroughWhatIsThere(t *testing.T) {
	t.Parallel()
	outside := tree(t, "victim")
	dest := tree(t)
	os.Symlink(filepath.Join(outside, "victim"), filepath.Join(dest, "a"))
	os.Symlink(outside, filepath.Join(dest, "d"))
	pack := func(name, text string) *bytes.Buffer {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644})
		w.Write([]byte(text))
		w.Close()
		return &b
	}
	if _, err := files.Untar(pack("a", "new"), rootOf(t, dest), 0); err != nil {
		t.Error(err)
	}
	if _, err := files.Untar(pack("d/victim", "new"), rootOf(t, dest), 0); err == nil {
		t.Error("wrote through a symlinked folder")
	}
	if _, err := files.Untar(pack("big", strings.Repeat("x", 11)), rootOf(t, dest), 10); err == nil {
		t.Error("the limit was not kept")
	}
	if b, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil || string(b) != "victim" {
		t.Errorf("the file outside is %q now, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dest, "a")); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTheWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	dir := tree(t, "a")
	if _, err := files.Tar(ctx, rootOf(t, dir), dir, runner.Pick{Base: dir, Patterns: []string{"*"}}, new(bytes.Buffer)); !errors.Is(err, why) {
		t.Error(err)
	}
}
