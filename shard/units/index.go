package units

import (
	"path"
	"strings"
)

// Mention is what a report says about where one of its cases comes from, "" for what it does not say.
type Mention struct {
	File, SuiteFile    string // of the case itself, and of the suite that it stands in
	Class, Suite, Name string
}

func (m Mention) hasFile() bool { return pathlike(m.File) || pathlike(m.SuiteFile) }

// Index finds the units that test reports mean. Reports spell one file in many ways: as it was listed, seen from the
// repository or from a test folder, absolute, or as the dotted name of a module or class.
type Index struct {
	base, root string
	keys       map[string]bool
	byName     map[string][]string // keys by their last part
	byStem     map[string][]string // files of keys by their last part without its extension
	exts       map[string]bool     // of the keys
	tests      bool                // some units are tests in files
}

// NewIndex makes the index of a list whose names are meant from base, a folder of the repository at root.
func NewIndex(list []Unit, base, root string) *Index {
	x := &Index{base: base, root: root, keys: map[string]bool{}, byName: map[string][]string{}, byStem: map[string][]string{}, exts: map[string]bool{}}
	files := map[string]bool{}
	for _, u := range list {
		file, test := cutTest(u.Key)
		x.keys[u.Key], x.exts[path.Ext(file)] = true, true
		x.byName[path.Base(u.Key)] = append(x.byName[path.Base(u.Key)], u.Key)
		x.tests = x.tests || test != ""
		if !files[file] {
			files[file] = true
			name := path.Base(stem(file))
			x.byStem[name] = append(x.byStem[name], file)
		}
	}
	return x
}

func stem(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// Unit gives the key of the unit that a case belongs to, "" if that is not certain. The file decides where one is named,
// itself or a folder that it lies in; else the class or suite, as a path, as an import path, or as a class whose source is
// the unit; else the name of the test.
func (x *Index) Unit(m Mention) string {
	if x.tests {
		if key := x.test(m); key != "" {
			return key
		}
	}
	for _, file := range []string{m.File, m.SuiteFile} {
		if key := x.file(file); key != "" {
			return key
		}
	}
	if m.hasFile() {
		return x.folder(m)
	}
	for _, name := range []string{m.Class, m.Suite} {
		if key := x.class(name); x.keys[key] {
			return key
		}
	}
	if name, _, _ := strings.Cut(m.Name, "/"); x.keys[name] {
		return name
	}
	return ""
}

// NamesFile says whether the report tells which file a case is from, listed or not: as such, or as the name of both its
// suite and its class, which is how Playwright and vitest write it.
func (x *Index) NamesFile(m Mention) bool {
	return m.hasFile() || m.Class == m.Suite && x.alike(m.Class)
}

// alike says whether a name is written as a file of the list's kind is.
func (x *Index) alike(name string) bool {
	ext := path.Ext(name)
	return ext != "" && x.exts[ext] && !strings.ContainsAny(name, " \t\n")
}

// file gives the key that a path of a report means, or "". A path that is only the end of a unit's, or the other way
// round, counts where it can mean no other.
func (x *Index) file(name string) string {
	if name == "" {
		return ""
	}
	name = strings.TrimPrefix(name, "file://")
	for _, key := range []string{name, Normalise(name, x.base, x.root), Normalise(name, x.root, x.root)} {
		if x.keys[key] {
			return key
		}
	}
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !pathlike(name) {
		return ""
	}
	longest := ""
	for _, key := range x.byName[path.Base(name)] {
		if strings.HasSuffix(name, "/"+key) && len(key) > len(longest) {
			longest = key
		}
	}
	if longest != "" {
		return longest
	}
	return only(x.byName[path.Base(name)], func(key string) bool { return strings.HasSuffix(key, "/"+name) })
}

// class gives the file or key that the name of a class, module or suite means, or "". What a dotted name has behind the
// file's own part, a class in a module, and a class inside of a class go. A name of one part is no proof: it may be any
// words that somebody chose.
func (x *Index) class(name string) string {
	name, _, _ = strings.Cut(name, "$")
	if key := x.file(name); key != "" || strings.ContainsAny(name, " \t\n") {
		return key
	}
	parts := strings.Split(name, ".")
	for n := len(parts); n > 0; n-- {
		module := strings.Join(parts[:n], "/")
		if file := only(x.byStem[parts[n-1]], func(file string) bool {
			return stem(file) == module || n > 1 && strings.HasSuffix(stem(file), "/"+module)
		}); file != "" {
			return file
		}
	}
	return ""
}

// test gives the unit that is one test of a file, as pytest names it: path::TestClass::test_name.
func (x *Index) test(m Mention) string {
	for _, file := range []string{x.normal(m.File), x.normal(m.SuiteFile), x.class(m.Class)} {
		if file == "" {
			continue
		}
		inner := m.Class[strings.LastIndexByte(m.Class, '.')+1:]
		for _, id := range []string{file + "::" + inner + "::" + m.Name, file + "::" + m.Name} {
			if x.keys[id] {
				return id
			}
		}
	}
	return ""
}

// folder gives the unit that is the nearest folder of the case's file.
func (x *Index) folder(m Mention) string {
	for _, file := range []string{x.normal(m.File), x.normal(m.SuiteFile)} {
		for at := strings.LastIndexByte(file, '/'); at > 0; at = strings.LastIndexByte(file[:at], '/') {
			if x.keys[file[:at]] {
				return file[:at]
			}
		}
	}
	return ""
}

func (x *Index) normal(file string) string {
	if file == "" {
		return ""
	}
	return Normalise(strings.TrimPrefix(file, "file://"), x.root, x.root)
}

// pathlike says whether a name of a report can be the path of a file.
func pathlike(name string) bool {
	if strings.ContainsAny(name, "\n\t") || name == "" {
		return false
	}
	ext := path.Ext(name)
	return strings.Contains(name, "/") || strings.Contains(name, `\`) || len(ext) > 1 && len(ext) < 7 && !strings.Contains(ext, " ")
}

// only gives the one key that fits, "" if there are none or several.
func only(keys []string, fits func(string) bool) string {
	found := ""
	for _, key := range keys {
		if !fits(key) {
			continue
		}
		if found != "" {
			return ""
		}
		found = key
	}
	return found
}
