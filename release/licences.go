package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// file is one of an archive.
type file struct {
	Name string // its path there
	Text []byte
	Mode int64
}

// source is what `go list -deps -json` says of a package.
type source struct {
	ImportPath string
	Dir        string
	Standard   bool
	Module     *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path string }
	}
}

// legal are the names of files that have to go with a program which the code beside them is in.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|authors|contributors)([.-].*)?$`)

// licences gives the files of that kind of every package linked into the program on t, from its folder up to that of its
// module, and a list of the modules. A module without a licence is an error: nobody may pass it on.
func (r *release) licences(ctx context.Context, t target) ([]file, error) {
	packages, err := r.packages(ctx, t)
	if err != nil {
		return nil, err
	}
	found := map[string]string{} // place in the archive: place on this machine
	modules := map[string]bool{}
	var faults []error
	for _, p := range packages {
		switch {
		case p.Standard || p.Module.Main:
			continue
		case p.Module.Replace != nil:
			faults = append(faults, fmt.Errorf("%s is replaced by %s: release what go.mod names", p.Module.Path, p.Module.Replace.Path))
			continue
		}
		modules[p.Module.Path+" "+p.Module.Version] = true
		if err := gather(found, path.Join("licences", p.Module.Path), p.Module.Dir, p.Dir); err != nil {
			faults = append(faults, err)
		}
	}
	root, err := output(r.goTool(ctx, t, "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	version, err := output(r.goTool(ctx, t, "env", "GOVERSION"))
	if err != nil {
		return nil, err
	}
	modules["go "+version] = true
	faults = append(faults, gather(found, "licences/go", root, root))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return read(found, modules)
}

// packages are all that the program on t consists of.
func (r *release) packages(ctx context.Context, t target) ([]source, error) {
	out, err := output(r.goTool(ctx, t, "list", "-deps", "-json=ImportPath,Dir,Standard,Module", program))
	if err != nil {
		return nil, err
	}
	var all []source
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var s source
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("what go list says: %w", err)
		}
		all = append(all, s)
	}
}

// gather adds the legal files of dir and of the folders above it up to top. They are found below place in the archive.
func gather(found map[string]string, place, top, dir string) error {
	licensed := false
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(top, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !legal.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			found[path.Join(place, filepath.ToSlash(below), e.Name())] = filepath.Join(dir, e.Name())
			licensed = licensed || regexp.MustCompile(`(?i)^(licen|copying)`).MatchString(e.Name())
		}
		if below == "." {
			break
		}
		dir = filepath.Dir(dir)
	}
	if !licensed {
		return fmt.Errorf("no licence found in %s or the folders above it up to %s", dir, top)
	}
	return nil
}

// read makes files of what was found, sorted by name.
func read(found map[string]string, modules map[string]bool) ([]file, error) {
	var list bytes.Buffer
	names := make([]string, 0, len(modules))
	for m := range modules {
		names = append(names, m)
	}
	slices.Sort(names)
	for _, m := range names {
		fmt.Fprintln(&list, m)
	}
	files := []file{{Name: "licences/modules.txt", Text: list.Bytes(), Mode: 0o644}}
	for name, place := range found {
		text, err := os.ReadFile(place)
		if err != nil {
			return nil, err
		}
		files = append(files, file{Name: name, Text: text, Mode: 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
