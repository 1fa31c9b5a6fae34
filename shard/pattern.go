package shard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// usualPlaces are where test runners put their reports when nobody says otherwise.
var usualPlaces = []string{
	"junit*.xml", "reports/**/*.xml", "test-results/**/*.xml", "target/surefire-reports/**/*.xml",
	"build/test-results/**/*.xml",
}

// usual gives the usual places, seen from base, of a command that starts in dir.
func usual(base, dir string) []string {
	all := slices.Clone(usualPlaces)
	rel, err := filepath.Rel(base, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return all
	}
	for _, p := range usualPlaces {
		all = append(all, literal(filepath.ToSlash(rel))+"/"+p)
	}
	return all
}

// literal quotes what a glob would read as a wildcard.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(name)
}

// tidy brings a glob into the one form that is compared with the paths of files: no ./ in front, a folder's name with
// a slash behind is all reports in it.
func tidy(pattern string) string {
	if strings.HasSuffix(pattern, "/") {
		pattern += "**/*.xml"
	}
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(pattern[2:], "/")
	}
	return pattern
}

func tidyAll(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = tidy(p)
	}
	return out
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[{\`) }

// reportsAmong picks the reports from the files that matched the configured globs. Whoever asks for a whole folder
// means the reports in it, not the pictures.
func reportsAmong(files, patterns []string) []string {
	broad := slices.ContainsFunc(patterns, func(p string) bool { return strings.Trim(path.Base(p), "*") == "" })
	if !broad {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		return !strings.HasSuffix(f, ".xml") && !slices.Contains(patterns, f)
	})
}

// missing are the globs that should have brought a report and did not: a plain path always should, globs only together,
// since one shard need not have tests of every kind.
func missing(patterns, found []string) []string {
	if len(found) == 0 {
		return patterns
	}
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return isGlob(p) || slices.Contains(found, p) })
}

// reaches says whether a glob might match something in the folder: its part before the first wildcard decides.
func reaches(pattern, folder string) bool {
	fixed := pattern
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		fixed = pattern[:i]
	}
	return strings.HasPrefix(fixed, folder) || strings.HasPrefix(folder, fixed)
}
