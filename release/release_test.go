package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const hash = "0123456789abcdef0123456789abcdef01234567"

// here is what the tests build: this machine's archive only, since each takes a minute.
func here(t *testing.T, root string) *release {
	return &release{
		Version: "0.1.0", Commit: hash, Time: time.Unix(1700000000, 0).UTC(), Root: root, Out: t.TempDir(), Story: t.Output(),
		Targets: []target{{runtime.GOOS, runtime.GOARCH}},
	}
}

// TestRelease builds an archive twice, from two folders, unpacks it and works with what is in it.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the archive of this system has no gVisor to try")
	}
	r := here(t, "..")
	sums, err := r.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(r.Out, "checksums.txt"))
	if err != nil || string(written) != sums {
		t.Errorf("checksums.txt: %q, want %q (%v)", written, sums, err)
	}
	again := here(t, copied(t))
	// What a machine is set to must not change a byte.
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("GOAMD64", "v2")
	if second, err := again.build(t.Context()); err != nil || second != sums {
		t.Errorf("the second build differs:\n%s%s%v", sums, second, err)
	}

	dir, files := unpack(t, filepath.Join(r.Out, r.name(r.Targets[0])))
	for _, name := range []string{
		"boxer", "LICENSE", "README.md", "licences/modules.txt", "licences/go/LICENSE", "licences/gvisor.dev/gvisor/LICENSE",
		"licences/github.com/spf13/cobra/LICENSE.txt", "licences/github.com/klauspost/compress/zstd/internal/xxhash/LICENSE.txt",
	} {
		if !slices.Contains(files, name) {
			t.Errorf("%s is not in it: %q", name, files)
		}
	}
	boxer := filepath.Join(dir, "boxer")
	sameModules(t, boxer, filepath.Join(dir, "licences/modules.txt"))
	linksNothing(t, boxer)
	prints(t, boxer)
	shards(t, boxer)
}

// copied is the source in another folder, without git.
func copied(t *testing.T) string {
	root := t.TempDir()
	for _, name := range []string{"cmd", "report", "runner", "shard", "smolvm"} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join("..", name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "LICENSE", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// unpack writes the archive to a folder, and looks at the headers of its files.
func unpack(t *testing.T, archive string) (dir string, files []string) {
	packed, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.MkdirTemp("/var/tmp", "bxr"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(1700000000, 0)) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s is of %s, of user %d and group %d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		files = append(files, h.Name)
		text, err := io.ReadAll(r)
		name := filepath.Join(dir, h.Name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, text, h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sameModules: the list beside the licences is of what the linker says it put in.
func sameModules(t *testing.T, boxer, list string) {
	info, err := buildinfo.ReadFile(boxer)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"go " + info.GoVersion}
	for _, m := range info.Deps {
		want = append(want, m.Path+" "+m.Version)
	}
	slices.Sort(want)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Equal(got, want) {
		t.Errorf("licences of\n%q, linked in are\n%q", got, want)
	}
}

// linksNothing: the program needs no library of the machine, and shows no path of where it was built.
func linksNothing(t *testing.T, boxer string) {
	text, err := os.ReadFile(boxer)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{root, "ld-linux", "libc.so.6\x00"} {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("the program contains %q", s)
		}
	}
}

func prints(t *testing.T, boxer string) {
	out, err := exec.Command(boxer, "version").Output()
	if want := "boxer v0.1.0\ncommit " + hash + "\ngvisor v0.0.0-"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("version prints %q, want %q and more (%v)", out, want, err)
	}
	out, err = exec.Command(boxer, "version", "--json").Output()
	var v struct{ Version, Commit, GVisor string }
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil || v.Version != "v0.1.0" || v.Commit != hash || !strings.HasPrefix(v.GVisor, "v0.0.0-") {
		t.Errorf("version --json prints %s (%v)", out, err)
	}
}

// shards forks a real gVisor sandbox with the released program.
func shards(t *testing.T, boxer string) {
	base, err := os.MkdirTemp("/var/tmp", "bxr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	c := exec.Command(boxer, "shard", "--backend", "gvisor", "--count", "2", "--", "sh", "-c", "echo fine-in-{i}")
	c.Dir = filepath.Join(base, "project")
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + base, "XDG_STATE_HOME=" + base + "/state", "XDG_RUNTIME_DIR=" + base,
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fine-in-1") || !strings.Contains(string(out), "fine-in-2") {
		t.Errorf("shard: %v\n%s", err, out)
	}
}

// TestLicencesElsewhere: macOS links no gVisor, and nothing is said to be in it that is not.
func TestLicencesElsewhere(t *testing.T) {
	t.Parallel()
	for _, to := range targets {
		files, err := here(t, "..").licences(context.Background(), to)
		if err != nil {
			t.Fatal(err)
		}
		gvisor := slices.ContainsFunc(files, func(f file) bool { return strings.HasPrefix(f.Name, "licences/gvisor.dev/") })
		if gvisor != (to.OS == "linux") {
			t.Errorf("%s: gVisor's licence is there: %t", to, gvisor)
		}
	}
}

func TestGatherWantsALicence(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a/b/NOTICE")
	put("a/b/licence.go")
	found := map[string]string{}
	if err := gather(found, "x", top, below); err == nil {
		t.Errorf("no licence, and no error: %v", found)
	}
	put("COPYING.txt")
	put("a/LICENSE-MIT")
	found = map[string]string{}
	err := gather(found, "x", top, below)
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"x/COPYING.txt", "x/a/LICENSE-MIT", "x/a/b/NOTICE"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, want %q (%v)", names, want, err)
	}
}
