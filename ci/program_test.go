package ci_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is boxer as a release has it, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "boxer-ci-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "boxer")
	c := exec.Command("go", "build", "-o", path, "../cmd/boxer")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	b, err := os.ReadFile(path)
	return string(b), err
})

// program is boxer's content.
func program(t *testing.T) string {
	t.Helper()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// source lets `go install` find what lies here as a version of boxer, and returns that and the variables for it. It goes
// through Go's module cache, under a version of this process alone, and is removed from there.
func source(t *testing.T) (version string, env []string) {
	t.Helper()
	version = fmt.Sprintf("0.0.0-test%d", os.Getpid())
	proxy := t.TempDir()
	dir := filepath.Join(proxy, "github.com/boxer-ci/boxer/@v")
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "v"+version+".info"), `{"Version": "v`+version+`", "Time": "2026-01-02T03:04:05Z"}`)
	writeFile(t, filepath.Join(dir, "v"+version+".mod"), string(mod))
	writeFile(t, filepath.Join(dir, "list"), "v"+version+"\n")
	files := must(t, "..", "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err := zipModule(filepath.Join(dir, "v"+version+".zip"), "v"+version, files); err != nil {
		t.Fatal(err)
	}
	cached := goEnv(t, "GOMODCACHE")
	t.Cleanup(func() {
		tree := filepath.Join(cached, "github.com/boxer-ci/boxer@v"+version)
		files, err := filepath.Glob(filepath.Join(cached, "cache/download/github.com/boxer-ci/boxer/@v/v"+version+".*"))
		if exec.Command("chmod", "-R", "u+w", tree).Run() == nil { // it is there
			err = errors.Join(err, os.RemoveAll(tree))
		}
		for _, f := range files {
			err = errors.Join(err, os.Remove(f))
		}
		if err != nil {
			t.Error("what cannot be removed is left: ", err)
		}
	})
	return version, []string{"GOPROXY=file://" + proxy + "," + goEnv(t, "GOPROXY"), "GONOSUMDB=github.com/boxer-ci/boxer"}
}

// zipModule makes the archive of the module, without the modules inside it.
func zipModule(name, version, files string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
	for file := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		if strings.HasPrefix(file, "examples/") || strings.HasPrefix(file, "ci/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			continue // deleted, and not yet in the index
		}
		w, err := z.Create("github.com/boxer-ci/boxer@" + version + "/" + file)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return z.Close()
}
