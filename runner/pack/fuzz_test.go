package pack

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// FuzzEntries looks for a stream whose entries do not lie where they say: whatever is handed on must be below its part,
// in a folder that came before it.
func FuzzEntries(f *testing.F) {
	f.Add(content(f, dir("root/"), file("root/a", 5), tar.Header{Typeflag: tar.TypeLink, Name: "root/b", Linkname: "root/a"}))
	f.Add(content(f, dir("root/"), dir("worktree/"), tar.Header{Typeflag: tar.TypeSymlink, Name: "worktree/l", Linkname: "/"}))
	f.Add(content(f, dir("root/"), tar.Header{Typeflag: tar.TypeChar, Name: "root/gone"}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewEntryReader(bytes.NewReader(stream))
		folders := map[string]bool{}
		for {
			e, err := r.Next()
			if err != nil {
				if _, told := errors.AsType[*runner.Error](err); err != io.EOF && !told {
					t.Fatalf("an error that nobody can act on: %v", err)
				}
				return
			}
			whole := filepath.Join(e.Part, e.Path)
			if (e.Part != Root && e.Part != Worktree) || (e.Path != "" && !filepath.IsLocal(e.Path)) || (e.Link != "" && !filepath.IsLocal(e.Link)) {
				t.Fatalf("%q leaves the root (%q, link to %q)", e.Name, e.Path, e.Link)
			}
			if e.Path != "" && !folders[filepath.Dir(whole)] {
				t.Fatalf("%q lies in no folder", e.Name)
			}
			if e.Folder() {
				folders[whole] = true
			}
			if n, _ := io.Copy(io.Discard, r); n > int64(len(stream)) {
				t.Fatalf("%q has %d bytes in a stream of %d", e.Name, n, len(stream))
			}
		}
	})
}

// FuzzOpen looks for a file that does more than be refused or read.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.tar.zst")
	write(f, path, content(f, dir("root/"), file("root/a", 5)))
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:1000])
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := use(t, path)
		if err == nil {
			if p, _ := Open(path); int64(len(got)) != p.Body.Unpacked {
				t.Fatalf("%d bytes, the manifest tells %d", len(got), p.Body.Unpacked)
			}
			return
		}
		if cause := string(runner.CauseOf(err)); !strings.HasPrefix(cause, "PACK_") && cause != string(runner.NotAPack) {
			t.Fatalf("an error that nobody can act on: %v", err)
		}
	})
}
