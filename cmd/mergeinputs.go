package cmd

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/boxer-ci/boxer/cmd/config"
)

// mergeInputs are the arguments of merge, patterns filled in: as typed, each once, in byte order.
type mergeInputs struct {
	folders, files []string
}

// expand finds what each argument names. A shell that knows no ** hands patterns on as they are, and in quotes every
// shell does. The output is never an input, or a second call would count each test twice.
func expand(dir, output string, args []string, f *config.Faults) mergeInputs {
	var in mergeInputs
	for _, arg := range args {
		files, folders := in.of(dir, output, arg, f)
		in.files = append(in.files, files...)
		in.folders = append(in.folders, folders...)
	}
	for _, list := range []*[]string{&in.files, &in.folders} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return in
}

func (in *mergeInputs) of(dir, output, arg string, f *config.Faults) (files, folders []string) {
	full := arg
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	info, err := os.Stat(full)
	switch {
	case arg == "":
		fault(f, "", "an argument is empty")
		return nil, nil
	case err == nil && info.IsDir():
		return nil, []string{filepath.Clean(arg)}
	case err == nil && sameFile(full, output):
		fault(f, "", "%s is the output, so it cannot be read", arg)
		return nil, nil
	case err == nil:
		return []string{filepath.Clean(arg)}, nil
	case !strings.ContainsAny(arg, `*?[{\`):
		fault(f, "", "%s: no such file or folder", arg)
		return nil, nil
	}
	return matches(dir, output, arg, f)
}

// matches are what a pattern names: files, or if there are none, folders. One that ends in a star for everything means
// the reports among it.
func matches(dir, output, pattern string, f *config.Faults) (files, folders []string) {
	full := pattern
	if !filepath.IsAbs(full) {
		full = filepath.Join(escapeGlob(dir), full)
	}
	found, err := doublestar.FilepathGlob(full)
	if err != nil {
		fault(f, "", "%q is no pattern: %s", pattern, err)
		return nil, nil
	}
	broad := strings.Trim(path.Base(filepath.ToSlash(pattern)), "*") == ""
	for _, p := range found {
		shown := p
		if rel, err := filepath.Rel(dir, p); err == nil && !filepath.IsAbs(pattern) {
			shown = rel
		}
		info, err := os.Stat(p)
		switch {
		case err != nil || sameFile(p, output):
		case info.IsDir():
			folders = append(folders, shown)
		case !broad || strings.HasSuffix(p, ".xml"):
			files = append(files, shown)
		}
	}
	if len(files) > 0 {
		return files, nil
	}
	if len(folders) == 0 {
		fault(f, "", "%q matches nothing", pattern)
	}
	return nil, folders
}

// escapeGlob makes a folder's name mean itself in a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(dir)
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
