package files

import (
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/boxer-ci/boxer/runner"
)

// Matcher tells which paths relative to Pick.Base the patterns name, for files that are where Walk cannot go. at is
// the folder that Base must lie in.
func Matcher(at string, p runner.Pick) (func(rel string) bool, error) {
	globs, err := compile(p.Patterns)
	if err != nil {
		return nil, err
	}
	if base, err := filepath.Rel(at, p.Base); err != nil || !filepath.IsLocal(base) {
		return nil, &runner.Error{Reason: p.Base + " lies outside " + at, Cause: Outside}
	}
	return func(rel string) bool {
		for _, g := range globs {
			if ok, _ := doublestar.Match(g.pattern, rel); ok {
				return true
			}
		}
		return false
	}, nil
}
