package timing

import (
	"path"
	"strings"
)

// index finds the unit that a report means.
type index struct {
	keys  map[string]bool
	ends  map[string]string // a key by each end of it that begins after a slash, "" where two keys have that end
	stems map[string]string // the same of the keys' files, without the files' own endings
	tests bool              // some units are tests in files
}

func newIndex(known []string) index {
	ix := index{keys: map[string]bool{}, ends: map[string]string{}, stems: map[string]string{}}
	files := map[string]bool{}
	for _, key := range known {
		if ix.keys[key] {
			continue
		}
		ix.keys[key] = true
		addEnds(ix.ends, key, key)
		file, _, test := strings.Cut(key, "::")
		ix.tests = ix.tests || test
		if !files[file] {
			files[file] = true
			addEnds(ix.stems, stem(file), file)
		}
	}
	whole := map[string]bool{}
	for file := range files { // a whole one says more than the end of another
		name := stem(file)
		ix.stems[name] = file
		if whole[name] {
			ix.stems[name] = ""
		}
		whole[name] = true
	}
	return ix
}

func stem(key string) string { return strings.TrimSuffix(key, path.Ext(key)) }

func addEnds(ends map[string]string, name, key string) {
	for {
		if _, taken := ends[name]; taken {
			ends[name] = ""
		} else {
			ends[name] = key
		}
		_, rest, more := strings.Cut(name, "/")
		if !more {
			return
		}
		name = rest
	}
}

// unitOf goes from what is surest to what is a guess.
func (ix index) unitOf(r Result) (key string, ok bool) {
	outer, _, _ := strings.Cut(r.Class, "$")
	file, class, suite := tidy(r.File), tidy(outer), tidy(r.Suite)
	if ix.tests {
		_, inner := cutLast(r.Class, ".")
		for _, f := range []string{file, ix.source(class)} {
			for _, id := range []string{f + "::" + inner + "::" + r.Name, f + "::" + r.Name} {
				if key, ok := ix.byPath(id); f != "" && ok {
					return key, true
				}
			}
		}
	}
	for _, name := range []string{file, class, suite} {
		if key, ok := ix.byPath(name); ok {
			return key, true
		}
	}
	for _, name := range []string{class, suite} {
		if key := ix.source(name); ix.keys[key] {
			return key, true
		}
	}
	for folder, _ := cutLast(file, "/"); folder != ""; folder, _ = cutLast(folder, "/") {
		if ix.keys[folder] {
			return folder, true
		}
	}
	name, _, _ := strings.Cut(r.Name, "/")
	return name, ix.keys[name]
}

// byPath finds the unit of a path that may be longer at its front, as absolute and import paths are, or shorter, as
// seen from a folder further down.
func (ix index) byPath(name string) (key string, ok bool) {
	if name == "" {
		return "", false
	}
	for rest, more := name, true; more; _, rest, more = strings.Cut(rest, "/") {
		if ix.keys[rest] {
			return rest, true
		}
	}
	key = ix.ends[name]
	return key, key != ""
}

// source finds the unit that is the source of a class: tests.test_a.TestX is in tests/test_a.py, and
// com.example.Outer in src/test/java/com/example/Outer.java.
func (ix index) source(class string) string {
	for name := strings.ReplaceAll(class, ".", "/"); name != ""; name, _ = cutLast(name, "/") {
		if key := ix.stems[name]; key != "" {
			return key
		}
	}
	return ""
}

// cutLast cuts around the last separator. Without one all is behind it.
func cutLast(s, sep string) (before, after string) {
	if at := strings.LastIndex(s, sep); at >= 0 {
		return s[:at], s[at+len(sep):]
	}
	return "", s
}

func tidy(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(strings.ReplaceAll(name, `\`, "/"))
}
