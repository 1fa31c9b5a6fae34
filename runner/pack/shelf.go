package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// Shelf is the folder where packs lie by name.
type Shelf struct{ Dir string }

// suffix is what the files are called after their name. `zstd -d | tar t` reads them.
const suffix = ".tar.zst"

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// NameRule says in words what CheckName asks for.
const NameRule = "small letters, digits, dots, dashes and underscores, at most 64, a letter or digit first"

// CheckName tells whether a pack may be called so.
func CheckName(name string) bool { return nameRule.MatchString(name) }

// Path is where the pack of that name lies, or would.
func (s Shelf) Path(name string) string { return filepath.Join(s.Dir, name+suffix) }

// NameOf is the name that a pack gets from its file, if it is fit for one.
func NameOf(path string) (string, bool) {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	return name, CheckName(name)
}

// Make creates the folder. What sandboxes changed is nobody's business but their owner's.
func (s Shelf) Make() error { return os.MkdirAll(s.Dir, 0o700) }

// Names lists the packs, sorted.
func (s Shelf) Names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && CheckName(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// Remove removes the pack of that name.
func (s Shelf) Remove(name string) error {
	err := os.Remove(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return s.Unknown(name)
	}
	return err
}

// Unknown is the refusal of a name, with all that there are.
func (s Shelf) Unknown(name string) error {
	e := &runner.Error{Reason: fmt.Sprintf("there is no pack %q", name), Cause: runner.UnknownPack, Fix: "boxer pack ls"}
	if names, _ := s.Names(); len(names) > 0 {
		e.Output = append([]string{"there are:"}, names...)
	} else {
		e.Output = []string{"there are no packs"}
	}
	return e
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
