// Package initial finds out how a project's tests are run, and writes the boxer.yaml that splits them.
//
// It looks at the files of one folder and gives text; it runs nothing and writes nothing. It uses only settings that
// package config reads today, and no more of them than the project needs.
//
// The choice a reader would question: what a file says is read with plain searches where the format has no parser in
// the standard library (TOML, Gradle, Gemfiles). The result is a first draft for a person to read, and one that is
// wrong shows at the first run.
package initial

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Plan is how the tests of one kind are run in shards.
type Plan struct {
	Kind      string
	By        string   // what it was recognised by, for people
	Before    string   // what to run on the machine before boxer, "" is nothing; a sandbox has no network
	Setup     []string // lines that pay once what every shard would pay
	Env       []string
	Tests     []string // patterns for the files that boxer deals, nil if the runner splits by itself
	List      string   // or a shell line that prints what boxer deals
	Line      string   // the command, as one line without quotes
	Script    string   // or lines for sh -ec; what is dealt is in "$@"
	JUnit     []string
	Artifacts []string
	Notes     []string // one sentence each: what the person has to know or do; "" as the kind is complete
	Smolvm    string   // image that has the tool
}

// Kinds are the names of all kinds, as --kind takes them.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// kind is one row of the table: what is looked for, in the order of preference where a folder has several.
type kind struct {
	name string
	find func(p *project) (Plan, bool)
}

var kinds = []kind{
	{"vitest", vitest},
	{"jest", jest},
	{"mocha", mocha},
	{"node", nodeTest},
	{"playwright", playwright},
	{"go", goTest},
	{"nextest", nextest},
	{"pytest", pytest},
	{"rspec", rspec},
	{"maven", maven},
	{"gradle", gradle},
	{"other", other},
}

// Detect gives the plans for all kinds that the folder has, the most likely first; none where it has none. "other" is
// never found: it is the draft for what this package does not know.
func Detect(folder fs.FS) ([]Plan, error) {
	p, err := open(folder)
	if err != nil {
		return nil, err
	}
	var found []Plan
	for _, k := range kinds {
		if plan, ok := k.find(p); ok && k.name != "other" {
			plan.Kind = k.name
			found = append(found, plan)
		}
	}
	slices.SortStableFunc(found, func(a, b Plan) int { return p.rank(a) - p.rank(b) })
	return found, nil
}

// rank puts the runner that `npm test` starts before all others.
func (p *project) rank(plan Plan) int {
	if plan.Kind == p.scripted() {
		return 0
	}
	return 1
}

// Other is the draft for a project of a kind that this package does not know.
func Other() Plan {
	plan, _ := other(nil)
	plan.Kind = "other"
	return plan
}

func other(*project) (Plan, bool) {
	return Plan{By: "--kind", Notes: []string{"The command has to split the tests by itself, by <i> (from 1) or <i0> (from 0) and <n>."}}, true
}

// project is a folder with what the kinds ask about.
type project struct {
	fs.FS
	npm *manifest // nil without a package.json
}

func open(folder fs.FS) (*project, error) {
	p := &project{FS: folder}
	b, err := fs.ReadFile(folder, "package.json")
	if err != nil {
		return p, nil
	}
	p.npm = &manifest{}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(b), "\ufeff")), p.npm); err != nil {
		return nil, fmt.Errorf("package.json cannot be read: %w", err)
	}
	return p, nil
}

func (p *project) has(names ...string) bool { return p.first(names...) != "" }

// first is the first of the files that is there.
func (p *project) first(names ...string) string {
	for _, n := range names {
		if _, err := fs.Stat(p, n); err == nil {
			return n
		}
	}
	return ""
}

// text is what a file holds, "" where it is not there.
func (p *project) text(name string) string {
	b, _ := fs.ReadFile(p, name)
	return string(b)
}

// mentions gives the first of the files that holds the word.
func (p *project) mentions(word string, names ...string) string {
	for _, n := range names {
		if strings.Contains(p.text(n), word) {
			return n
		}
	}
	return ""
}

const (
	deepest = 6     // folders below the project that are looked into
	most    = 20000 // files that are looked at
)

// find is the first file below the folder whose name matches one of the patterns.
func (p *project) find(folder string, patterns ...string) string {
	found, seen := "", 0
	fs.WalkDir(p, folder, func(name string, entry fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read is not there
		if err != nil {
			return fs.SkipDir
		}
		if seen++; seen > most {
			return fs.SkipAll
		}
		if entry.IsDir() {
			if name != folder && (foreign(entry.Name()) || strings.Count(name, "/") >= deepest) {
				return fs.SkipDir
			}
			return nil
		}
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, entry.Name()); ok {
				found = name
				return fs.SkipAll
			}
		}
		return nil
	})
	return found
}

// holds says whether there is such a file in the folder itself.
func (p *project) holds(folder string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		found, _ := fs.Glob(p, folder+"/"+pattern)
		return len(found) > 0
	})
}

// foreign are folders that hold other people's code, or none.
func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "vendor", "venv", "target", "build", "dist", "boxer-report"}, name)
}
