package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/boxer-ci/boxer/runner"
)

// FileName is what the file is called.
const FileName = "boxer.yaml"

// maxFile is more than any hand-written configuration; what is larger was named by mistake.
const maxFile = 1 << 20

// find looks for the file from dir upward to the root of the scope; "" where there is none.
func find(dir string, scope runner.Scope) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		path := filepath.Join(d, FileName)
		_, err := os.Lstat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if d == scope.Worktree || d == filepath.Dir(d) {
			return "", nil
		}
	}
}

// readBounded looks before it opens, because opening a named pipe would wait for a writer.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return b, err
}
