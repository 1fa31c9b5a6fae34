package units

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Normalise gives the key of a name that is meant from base: its path from root, with slashes, without "./" and the
// like. What stands behind "::" names a test in a file and stays as it is. The import path of a package stays too,
// since it means the same from everywhere. A path outside root stays absolute.
func Normalise(name, base, root string) string {
	file, test := cutTest(name)
	file = strings.ReplaceAll(file, `\`, "/")
	switch {
	case file == "":
	case path.IsAbs(file):
		file = fromRoot(path.Clean(file), root)
	default:
		file = path.Clean(file)
		if from := fromRoot(filepath.ToSlash(base), root); from != "." && !imported(file, base) {
			file = fromRoot(path.Join(from, file), root)
		}
	}
	return file + test
}

func cutTest(name string) (file, test string) {
	if at := strings.Index(name, "::"); at >= 0 {
		return name[:at], name[at:]
	}
	return name, ""
}

// fromRoot gives an absolute path as seen from root, whether it was written with root's own name or with the one that
// is left when links are followed.
func fromRoot(file, root string) string {
	if !path.IsAbs(file) {
		return file
	}
	if rel, ok := below(file, root); ok {
		return rel
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return file
	}
	if rel, ok := below(file, real); ok {
		return rel
	}
	if file, err := filepath.EvalSymlinks(file); err == nil {
		if rel, ok := below(file, real); ok {
			return rel
		}
	}
	return file
}

func below(file, root string) (string, bool) {
	rel, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// imported says whether a name is an import path, such as github.com/x/y, and no file: its first part looks like a
// host, and nothing of that name is there.
func imported(name, base string) bool {
	host, rest, more := strings.Cut(name, "/")
	if !more || rest == "" || strings.HasPrefix(host, ".") || !strings.Contains(host, ".") {
		return false
	}
	_, err := os.Lstat(filepath.Join(base, host))
	return err != nil
}

// Safe gives the name as a word that no command takes for a flag.
func Safe(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}
