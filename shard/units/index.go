package units

import (
	"path"
	"strings"
)

// Index finds the units that test reports mean. Reports spell one file in many ways: as it was listed, seen from the
// repository or from a test folder, absolute, or as the dotted name of a module or class.
type Index struct {
	base, root string
	keys       map[string]bool
	byName     map[string][]string // keys by their last part
	byStem     map[string][]string // keys by their last part without its extension
	exts       map[string]bool     // of the keys
}

// NewIndex makes the index of a list whose names are meant from base, a folder of the repository at root.
func NewIndex(list []Unit, base, root string) *Index {
	x := &Index{base: base, root: root, keys: map[string]bool{}, byName: map[string][]string{}, byStem: map[string][]string{}, exts: map[string]bool{}}
	for _, u := range list {
		name := path.Base(u.Key)
		stem := strings.TrimSuffix(name, path.Ext(name))
		x.keys[u.Key], x.exts[path.Ext(name)] = true, true
		x.byName[name] = append(x.byName[name], u.Key)
		x.byStem[stem] = append(x.byStem[stem], u.Key)
	}
	return x
}

// File gives the key of the unit that a path of a report means, or "". A path that is only the end of a unit's, or the
// other way round, counts where it can mean no other.
func (x *Index) File(name string) string {
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
	if !Pathlike(name) {
		return ""
	}
	same := x.byName[path.Base(name)]
	if key := only(same, func(key string) bool { return strings.HasSuffix(key, "/"+name) }); key != "" {
		return key
	}
	longest := ""
	for _, key := range same {
		if strings.HasSuffix(name, "/"+key) && len(key) > len(longest) {
			longest = key
		}
	}
	return longest
}

// Class gives the key of the unit that the name of a class, module or suite means, or "". What a dotted name has behind
// the file's own part, a class in a module, and a class inside of a class go.
func (x *Index) Class(name string) string {
	if key := x.File(name); key != "" || strings.ContainsAny(name, " \t\n") {
		return key
	}
	name, _, _ = strings.Cut(name, "$")
	parts := strings.Split(name, ".")
	for n := len(parts); n > 0; n-- {
		stem := strings.Join(parts[:n], "/")
		if key := only(x.byStem[parts[n-1]], func(key string) bool {
			bare := strings.TrimSuffix(key, path.Ext(key))
			return bare == stem || n > 1 && strings.HasSuffix(bare, "/"+stem)
		}); key != "" {
			return key
		}
	}
	return ""
}

// Alike says whether the name of a class or suite is written as a file of the list's kind is, listed or not.
func (x *Index) Alike(name string) bool {
	ext := path.Ext(name)
	return ext != "" && x.exts[ext] && !strings.ContainsAny(name, " \t\n")
}

// Pathlike says whether a name of a report can be the path of a file.
func Pathlike(name string) bool {
	if strings.ContainsAny(name, "\n\t") || name == "" {
		return false
	}
	ext := path.Ext(name)
	return strings.Contains(name, "/") || len(ext) > 1 && len(ext) < 7 && !strings.Contains(ext, " ")
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
