package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place decides where the files of each node lie, seen from the merged report. Those below it stay where they are;
// others are copied to node-N beside it, so that the merged folder can be carried away as a whole. With a mere file to
// write, nothing is copied.
func (m *nodeMerge) place() error {
	var errs []error
	seenFrom := m.options.Dir
	if m.dir == nil {
		seenFrom = filepath.Dir(m.options.File)
	}
	for _, f := range m.set.nodes {
		if m.dir == nil || within(m.options.Dir, f.path) {
			rel, err := filepath.Rel(seenFrom, f.path)
			errs = append(errs, err)
			m.folders = append(m.folders, filepath.ToSlash(rel))
			continue
		}
		name := m.freeFolder(f.doc.Node.Index)
		if err := m.bring(f.path, name); err != nil {
			errs = append(errs, notWritten("the files of "+f.String()+" were not copied", m.options.Dir, err))
		}
		m.folders = append(m.folders, name)
	}
	return errors.Join(errs...)
}

// freeFolder is the name of a node's folder below the merged report, emptied of what an earlier merge left, but never
// that of a folder that was to be merged: another node's, or an earlier attempt.
func (m *nodeMerge) freeFolder(index int) string {
	name := Node{index, 2}.Folder()
	for n := 2; ; n++ {
		taken := false
		for _, f := range m.found {
			taken = taken || within(filepath.Join(m.options.Dir, name), f.path)
		}
		if !taken {
			return name
		}
		name = fmt.Sprintf("%s-%d", Node{index, 2}.Folder(), n)
	}
}

// bring copies what boxer wrote for a node. Links and whatever else lies there stay: the folder came from elsewhere.
func (m *nodeMerge) bring(from, name string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := m.dir.root.RemoveAll(name); err != nil {
		return err
	}
	if err := m.dir.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	dst, err := m.dir.root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dst.Close()
	return fs.WalkDir(src.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(path, "/")
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case !ours.MatchString(top):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return dst.MkdirAll(path, 0o755)
		case e.Type().IsRegular():
			return copyFile(src, dst, path)
		}
		return nil
	})
}

func copyFile(src, dst *os.Root, path string) error {
	in, err := src.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dst.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
