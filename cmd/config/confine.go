package config

import (
	"path/filepath"
	"strings"
)

// confine refuses patterns that leave the worktree, and makes the others relative to Base. A symlink can still lead
// outside: that is seen, and refused, when files are collected.
func (l *loader) confine() {
	for _, list := range []struct {
		key   string
		globs *[]string
	}{{"shard.junit", &l.cfg.Shard.JUnit}, {"shard.artifacts", &l.cfg.Shard.Artifacts}, {"shard.tests", &l.cfg.Shard.Tests}} {
		var inside []string
		source := l.cfg.From(list.key)
		for _, pattern := range *list.globs {
			full, takesAway := strings.CutPrefix(pattern, "!")
			takesAway = takesAway && list.key == "shard.tests"
			if !takesAway {
				full = pattern
			}
			if !filepath.IsAbs(full) {
				full = filepath.Join(l.cfg.Base, full)
			}
			full = filepath.Clean(full)
			if !within(l.request.Scope.Worktree, full) || climbs(full) {
				l.faults.addf(source, "%s%q leaves the %s %s", inFile(list.key, source), pattern, l.request.Scope.Kind(), l.request.Scope.Worktree)
				continue
			}
			if !within(l.cfg.Base, full) {
				l.faults.addf(source, "%s%q leaves the folder %s that patterns are relative to: keep %s further up", inFile(list.key, source), pattern, l.cfg.Base, FileName)
				continue
			}
			rel, _ := filepath.Rel(l.cfg.Base, full) // both are absolute
			if takesAway {
				rel = "!" + rel
			}
			inside = append(inside, rel)
		}
		*list.globs = inside
	}
}

// climbs finds a .. that Clean cannot see because it stands in braces: {a,..}/b.
func climbs(pattern string) bool {
	for _, part := range strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if part == ".." {
			return true
		}
	}
	return false
}

func within(folder, path string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

// absolute makes paths of the file absolute: ~ is the home folder, the rest is relative to the file.
func (l *loader) absolute(key string, paths []string) []string {
	var out []string
	for _, p := range paths {
		switch {
		case p == "":
			l.faults.addf(l.cfg.From(key), "%s: a path is empty", key)
			continue
		case p == "~" || strings.HasPrefix(p, "~/"):
			if l.home == "" {
				l.faults.addf(l.cfg.From(key), "%s: %q needs HOME, which is not set", key, p)
				continue
			}
			p = filepath.Join(l.home, p[1:])
		case !filepath.IsAbs(p):
			p = filepath.Join(l.cfg.Base, p)
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}
