package pack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/boxer-ci/boxer/runner"
)

var made = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// content is a small pack's tar stream.
func content(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		text := strings.Repeat("x", int(h.Size))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
func file(name string, size int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size}
}

// write makes a pack file of the stream.
func write(t testing.TB, path string, stream []byte) Manifest {
	t.Helper()
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(stream); err != nil {
		t.Fatal(err)
	}
	m, err := w.Commit(Manifest{Name: "app", Created: made, OS: "linux", Arch: "amd64", Of: "shop"}, false)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// use does with a pack file all that using it does, and returns its content.
func use(t testing.TB, path string) ([]byte, error) {
	t.Helper()
	p, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Verify(t.Context()); err != nil {
		return nil, err
	}
	s, err := p.Stream(t.Context())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return io.ReadAll(s)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.tar.zst")
	stream := content(t, dir("root/"), file("root/a", 100_000))
	want := write(t, path, stream)
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Name != "app" || p.Of != "shop" || !p.Created.Equal(made) || p.Body != want.Body {
		t.Errorf("manifest %+v, want %+v", p.Manifest, want)
	}
	got, err := use(t, path)
	if err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(stream))
	}
}

// A pack is a tar file for everybody else: the manifest first, then the content.
func TestAnyTarReadsIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.tar.zst")
	write(t, path, content(t, dir("root/"), file("root/a", 3)))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "manifest.json root/ root/a" {
		t.Errorf("got %s", got)
	}
}

// A change anywhere and a cut anywhere are seen before anything of the content is used. In the manifest
// a bit may change that the decompressor does not look at: then what is read is the same.
func TestDamageIsSeen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "app.tar.zst")
	stream := content(t, dir("root/"), file("root/a", 5000))
	want := write(t, path, stream)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(folder, "broken.tar.zst")
	try := func(b []byte) runner.Cause {
		if err := os.WriteFile(broken, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := use(t, broken)
		if err == nil {
			p, err := Open(broken)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if !reflect.DeepEqual(p.Manifest, want) || !bytes.Equal(got, stream) {
				return "WRONG"
			}
			return "SAME"
		}
		return runner.CauseOf(err)
	}
	manifest := bytes.Index(good, []byte{0x50, 0x2A, 0x4D, 0x18}) // where the frame behind the manifest's begins
	for at := range good {
		if at >= manifest && at < room {
			continue // nothing is told there
		}
		b := bytes.Clone(good)
		b[at] ^= 1
		switch cause := try(b); {
		case cause == runner.PackDamaged, cause == runner.NotAPack:
		case cause == "SAME" && at < manifest:
		default:
			t.Fatalf("a changed bit in byte %d: %q", at, cause)
		}
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		cause runner.Cause
	}{
		{"cut in the content", good[:len(good)-1], runner.PackTruncated},
		{"cut behind the manifest", good[:room], runner.PackTruncated},
		{"cut in the room", good[:room-1], runner.PackTruncated},
		{"cut in the manifest", good[:manifest/2], runner.PackDamaged},
		{"something behind", append(bytes.Clone(good), 0), runner.PackDamaged},
		{"nothing", nil, runner.NotAPack},
		{"text", []byte("hello"), runner.NotAPack},
	} {
		if got := try(c.bytes); got != c.cause {
			t.Errorf("%s: %q, want %q", c.name, got, c.cause)
		}
	}
}

// front makes a file of any manifest and body.
func front(t *testing.T, change func(*Manifest), entry string, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tar.zst")
	m := write(t, path, content(t, dir("root/"), file("root/a", 10)))
	change(&m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: entry, Size: int64(len(text)), Mode: 0o600})
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Flush()
	z, _ := zstd.NewWriter(nil)
	defer z.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := z.EncodeAll(b.Bytes(), nil)
	fill := room - len(head) - 8
	head = append(head, 0x50, 0x2A, 0x4D, 0x18, byte(fill), byte(fill>>8), byte(fill>>16), byte(fill>>24))
	if _, err := f.WriteAt(head, 0); err != nil {
		t.Fatal(err)
	}
	if body != nil {
		if err := f.Truncate(room); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(body, room); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestManifestsThatAreRefused(t *testing.T) {
	t.Parallel()
	nothing := func(*Manifest) {}
	for _, c := range []struct {
		name   string
		change func(*Manifest)
		entry  string
		cause  runner.Cause
	}{
		{"as it was", nothing, manifestName, ""},
		{"too new", func(m *Manifest) { m.Schema = format + 1 }, manifestName, runner.PackTooNew},
		{"another kind", func(m *Manifest) { m.Kind = "x" }, manifestName, runner.NotAPack},
		{"another archive", nothing, "other.json", runner.NotAPack},
		{"no format", func(m *Manifest) { m.Schema = 0 }, manifestName, runner.PackDamaged},
		{"a digest of another length", func(m *Manifest) { m.Body.SHA256 = "ab" }, manifestName, runner.PackDamaged},
		{"a path for a name", func(m *Manifest) { m.Of = "../x" }, manifestName, runner.PackDamaged},
		{"a shorter content than there is", func(m *Manifest) { m.Body.Bytes-- }, manifestName, runner.PackDamaged},
		{"a longer one", func(m *Manifest) { m.Body.Bytes++ }, manifestName, runner.PackTruncated},
		{"unpacks to less", func(m *Manifest) { m.Body.Unpacked++ }, manifestName, runner.PackDamaged},
		{"unpacks to more", func(m *Manifest) { m.Body.Unpacked-- }, manifestName, runner.PackDamaged},
	} {
		_, err := use(t, front(t, c.change, c.entry, nil))
		if got := runner.CauseOf(err); got != c.cause || (err != nil) != (c.cause != "") {
			t.Errorf("%s: %v (%q), want %q", c.name, err, got, c.cause)
		}
	}
}

// A few bytes that unpack to a gigabyte end where the manifest says, without being unpacked further.
func TestBombEndsAtItsManifest(t *testing.T) {
	t.Parallel()
	z, _ := zstd.NewWriter(nil)
	defer z.Close()
	bomb := z.EncodeAll(make([]byte, 1<<26), nil)
	sum := hashOfBytes(bomb)
	path := front(t, func(m *Manifest) {
		m.Body = body{Bytes: int64(len(bomb)), Unpacked: 4096, SHA256: sum}
	}, manifestName, bomb)
	got, err := use(t, path)
	if runner.CauseOf(err) != runner.PackDamaged || len(got) > 4096 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	root, worktree := dir("root/"), dir("worktree/")
	link := func(name, to string) tar.Header { return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to} }
	symlink := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	device := func(name string, kind byte, minor int64) tar.Header {
		return tar.Header{Typeflag: kind, Name: name, Devminor: minor}
	}
	for _, c := range []struct {
		name    string
		entries []tar.Header
		refused string // "" is taken
	}{
		{"files and folders", []tar.Header{root, dir("root/a/"), file("root/a/b", 1), worktree, file("worktree/c", 2)}, ""},
		{"a mark of deletion", []tar.Header{root, device("root/gone", tar.TypeChar, 0)}, ""},
		{"a link to a file before it", []tar.Header{root, file("root/a", 1), link("root/b", "root/a")}, ""},
		{"a symlink to anywhere", []tar.Header{root, symlink("root/a", "/etc/passwd")}, ""},
		{"a name with dots", []tar.Header{root, file("root/..a", 1)}, ""},
		{"no part", []tar.Header{file("etc", 1)}, "leaves the root"},
		{"up and out", []tar.Header{root, file("root/../x", 1)}, "leaves the root"},
		{"up", []tar.Header{root, file("root/..", 1)}, "leaves the root"},
		{"absolute", []tar.Header{root, file("/root/x", 1)}, "leaves the root"},
		{"two slashes", []tar.Header{root, file("root//x", 1)}, "leaves the root"},
		{"a part that is a file", []tar.Header{file("root", 1)}, "is no folder"},
		{"a part that is a symlink", []tar.Header{symlink("root", "/")}, "is no folder"},
		{"below a symlink", []tar.Header{root, symlink("root/a", "/etc"), file("root/a/b", 1)}, "does not lie in a folder"},
		{"below a file", []tar.Header{root, file("root/a", 1), file("root/a/b", 1)}, "does not lie in a folder"},
		{"below nothing", []tar.Header{root, file("root/a/b", 1)}, "does not lie in a folder"},
		{"twice", []tar.Header{root, dir("root/a/"), symlink("root/a", "/")}, "is there twice"},
		{"a link out", []tar.Header{root, link("root/a", "/etc/shadow")}, "no file of the pack"},
		{"a link up", []tar.Header{root, link("root/a", "root/../../etc/shadow")}, "no file of the pack"},
		{"a link into the other part", []tar.Header{root, file("root/a", 1), worktree, link("worktree/a", "root/a")}, "no file of the pack"},
		{"a link to a folder", []tar.Header{root, dir("root/a/"), link("root/b", "root/a")}, "no file of the pack"},
		{"a link to what comes later", []tar.Header{root, link("root/b", "root/a"), file("root/a", 1)}, "no file of the pack"},
		{"a device", []tar.Header{root, device("root/sda", tar.TypeBlock, 0)}, "of a kind"},
		{"a character device", []tar.Header{root, device("root/null", tar.TypeChar, 3)}, "is a device"},
	} {
		r := NewEntryReader(bytes.NewReader(content(t, c.entries...)))
		var err error
		n := 0
		for err == nil {
			if _, err = r.Next(); err == nil {
				n++
			}
		}
		switch {
		case c.refused == "" && (err != io.EOF || n != len(c.entries)):
			t.Errorf("%s: %v after %d entries", c.name, err, n)
		case c.refused != "" && (runner.CauseOf(err) != runner.PackUnsafe || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

// A sparse file is a few bytes that become any number: no pack has one.
func TestSparseFileIsRefused(t *testing.T) {
	t.Parallel()
	h := file("root/a", 3)
	// archive/tar does not write these records, so those of another name are made into them.
	h.PAXRecords = map[string]string{"GNU_sparse.map": "0,3", "GNU_sparse.numblocks": "1", "GNU_sparse.size": "1099511627776"}
	stream := bytes.ReplaceAll(content(t, dir("root/"), h), []byte("GNU_sparse"), []byte("GNU.sparse"))
	r := NewEntryReader(bytes.NewReader(stream))
	_, err := r.Next()
	if err == nil {
		_, err = r.Next()
	}
	if runner.CauseOf(err) != runner.PackUnsafe {
		t.Errorf("%v", err)
	}
}

func TestCommitReplacesOnlyWithForce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.tar.zst")
	write(t, path, content(t, dir("root/")))
	for _, force := range []bool{false, true} {
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content(t, dir("root/"), file("root/new", 1)))
		_, err = w.Commit(Manifest{Name: "new"}, force)
		if (runner.CauseOf(err) == runner.PackExists) == force {
			t.Errorf("force %v: %v", force, err)
		}
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if (p.Name == "new") != force {
			t.Errorf("force %v: the pack is %q", force, p.Name)
		}
		p.Close()
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) > 0 {
			t.Errorf("force %v: left %s", force, left)
		}
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w, err := Create(filepath.Join(folder, "app.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(content(t, dir("root/")))
	w.Abort()
	w.Abort() // once more is no harm
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left %s", left)
	}
}

// What a crash left is removed by the next save; what another save is writing at the moment is not, however long it
// takes, and neither is a file of another kind.
func TestSweep(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	old := time.Now().Add(-2 * abandoned)
	for _, name := range []string{".new-1.boxer-pack", ".new-2", ".new-3.boxer-pack", ".new-4.boxer-pack"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != ".new-4.boxer-pack" { // that one is made just now
			if err := os.Chtimes(filepath.Join(folder, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := os.Open(filepath.Join(folder, ".new-3.boxer-pack"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	w, err := Create(filepath.Join(folder, "app.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	var left []string
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != ".new-2 .new-3.boxer-pack .new-4.boxer-pack" {
		t.Errorf("left %s", got)
	}
}

func TestShelf(t *testing.T) {
	t.Parallel()
	s := Shelf{filepath.Join(t.TempDir(), "packs")}
	if names, err := s.Names(); err != nil || len(names) > 0 {
		t.Errorf("before there is a folder: %v, %v", names, err)
	}
	if err := s.Make(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a.1", "B", ".new-1"} {
		if err := os.WriteFile(s.Path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := s.Names(); err != nil || strings.Join(names, " ") != "a.1 b" {
		t.Errorf("%v, %v", names, err)
	}
	err := s.Remove("c")
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != runner.UnknownPack || strings.Join(e.Output, " ") != "there are: a.1 b" {
		t.Errorf("%v", err)
	}
	if err := s.Remove("b"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{
		"app": true, "a-1.b_c": true, "": false, "App": false, "../x": false, ".x": false, "-x": false, "a/b": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		if CheckName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if name, ok := NameOf("/cache/app.tar.zst"); !ok || name != "app" {
		t.Errorf("%q, %v", name, ok)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	spec := func(change func(*runner.Spec)) runner.Spec {
		s := runner.Spec{
			Dir:      "/src/shop/api",
			Services: []runner.Service{{Name: "db", Run: "postgres"}, {Name: "mq", Run: "rabbit"}},
			Setup:    []runner.SetupStep{{Run: "migrate"}},
		}
		change(&s)
		return s
	}
	packed := ConfigOf(spec(func(*runner.Spec) {}), "/src/shop")
	for _, c := range []struct {
		name   string
		change func(*runner.Spec)
		want   string
	}{
		{"nothing", func(*runner.Spec) {}, ""},
		{"a time limit", func(s *runner.Spec) { s.Services[0].Timeout, s.Setup[0].Timeout = 1, 1 }, ""},
		{"what is let in and hidden", func(s *runner.Spec) { s.Env, s.Hide = []string{"A=b"}, []string{"/x"} }, ""},
		{"a service", func(s *runner.Spec) { s.Services[0].Init = "initdb" }, "service db is another one than in the pack"},
		{"one less", func(s *runner.Spec) { s.Services = s.Services[:1] }, "service mq is in the pack and no longer in the configuration"},
		{"the order", func(s *runner.Spec) { s.Services[0], s.Services[1] = s.Services[1], s.Services[0] }, "the services are in another order"},
		{"setup", func(s *runner.Spec) { s.Setup = append(s.Setup, runner.SetupStep{Run: "seed"}) }, "setup command 2 is new since the pack"},
		{"the folder", func(s *runner.Spec) { s.Dir = "/src/shop" }, "services and setup start in ., not in api"},
	} {
		if got := strings.Join(packed.Differences(ConfigOf(spec(c.change), "/src/shop")), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	elsewhere := spec(func(s *runner.Spec) { s.Dir = "/home/ci/build/api" })
	if got := packed.Differences(ConfigOf(elsewhere, "/home/ci/build")); len(got) > 0 {
		t.Errorf("another checkout: %q", got)
	}
}

func hashOfBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
