package units

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/maruel/natural"
)

// unseen are folders that wildcards do not reach: what lies there is nobody's own test.
var unseen = []string{"node_modules", "boxer-report"}

// Glob gives the files that the patterns name, seen from base, each once, file2 before file10. A pattern with a ! in
// front takes away from what all others found, wherever it stands. As in a shell a wildcard does not reach names that
// begin with a dot; nor does it reach into node_modules and boxer-report. A pattern that spells such a name does.
// The error names each pattern that is not valid and each that found nothing.
func Glob(base string, patterns []string) ([]string, error) {
	wanted, without, err := sortOut(patterns)
	found := map[string]bool{}
	for _, p := range wanted {
		files, globErr := glob(base, p, without)
		err = errors.Join(err, globErr)
		for _, f := range files {
			found[f] = true
		}
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(found))
	for name := range found {
		if !matches(without, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 && len(found) > 0 {
		return nil, fmt.Errorf("the patterns with a ! take away all %d files that the others found", len(found))
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(natural.Compare(a, b), strings.Compare(a, b)) })
	return names, nil
}

// sortOut parts the patterns that add from those that take away, in the form in which they are compared.
func sortOut(patterns []string) (wanted, without []string, err error) {
	for _, given := range patterns {
		p, negated := strings.CutPrefix(given, "!")
		switch {
		case p == "" || !doublestar.ValidatePattern(p):
			err = errors.Join(err, fmt.Errorf("%q is no valid pattern", given))
		case negated:
			without = append(without, path.Clean(p))
			if strings.HasSuffix(p, "/") || !strings.ContainsAny(path.Base(p), `*?[{\`) { // it may name a folder
				without = append(without, path.Join(p, "**"))
			}
		default:
			wanted = append(wanted, path.Clean(p))
		}
	}
	if err == nil && len(wanted) == 0 && len(without) > 0 {
		err = errors.New("patterns with a ! only take away: there must be one without it")
	}
	return wanted, without, err
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := doublestar.Match(p, name)
		return ok
	})
}

// whole says whether all that a folder holds is taken away.
func whole(without []string, folder string) bool {
	return slices.ContainsFunc(without, func(p string) bool {
		p, all := strings.CutSuffix(p, "/**")
		ok, _ := doublestar.Match(p, folder)
		return all && ok
	})
}

func glob(base, pattern string, without []string) ([]string, error) {
	at := func(name string) string {
		if path.IsAbs(name) {
			return name
		}
		return filepath.Join(base, name)
	}
	// A file's own name may have brackets, as in app/[id]/page.test.js.
	switch info, err := os.Stat(at(pattern)); {
	case err == nil && info.Mode().IsRegular():
		return []string{pattern}, nil
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%q is a folder: %q names the files in it", pattern, path.Join(pattern, "**"))
	}
	fixed, rest := doublestar.SplitPattern(pattern)
	files, err := walk(at(fixed), fixed, rest, without)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the pattern %q matches no file below %s", pattern, at(fixed))
	}
	return files, err
}

// walk looks for what matches rest below dir, which the names call prefix.
func walk(dir, prefix, rest string, without []string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(rel string, entry fs.DirEntry, err error) error {
		name := path.Join(prefix, rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since its folder was read
		case err != nil:
			return fmt.Errorf("%w: with %q it is left out", err, "!"+path.Join(name, "**"))
		case rel == ".":
			return nil
		case hidden(path.Base(rel), rest) || entry.IsDir() && whole(without, name):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if ok, _ := doublestar.Match(rest, rel); ok && isFile(filepath.Join(dir, rel), entry) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// hidden says whether wildcards pass over a name: one of those that only a pattern reaches which spells it, or at least
// its dot.
func hidden(name, pattern string) bool {
	dot := strings.HasPrefix(name, ".")
	if !dot && !slices.Contains(unseen, name) {
		return false
	}
	parts := strings.FieldsFunc(pattern, func(c rune) bool { return strings.ContainsRune("/{,}", c) })
	return !slices.ContainsFunc(parts, func(part string) bool {
		if !dot || !strings.HasPrefix(part, ".") {
			return part == name
		}
		ok, _ := doublestar.Match(part, name)
		return ok
	})
}

func isFile(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
