// Package boxer_test holds the rules about the repository as a whole. There is no package at the top to test.
package boxer_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/boxer-ci/boxer/"

// rule says what the packages of a folder, and of the folders below it that have no rule of their own, may import.
type rule struct {
	ours   []string // folders, with /... those below too
	theirs []string // modules or packages from elsewhere; what lies below is included
	tests  []string // packages from elsewhere that only test files may import
}

var layout = map[string]rule{
	".": {ours: []string{"runner"}, tests: []string{"github.com/creack/pty"}},
	"cmd": {
		ours: []string{
			"cmd/config", "cmd/initial", "cmd/trust", "shard", "runner", "runner/keeper", "runner/pack", "runner/gvisor", "runner/host", "smolvm",
			"report", "report/ci", "report/text", "shard/ledger", "shard/units",
		},
		theirs: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "github.com/bmatcuk/doublestar/v4"},
		tests:  []string{"github.com/rogpeppe/go-internal/testscript"},
	},
	"cmd/boxer":   {ours: []string{"cmd", "runner/gvisor", "runner/host", "smolvm"}, theirs: []string{"gvisor.dev/gvisor/runsc/cli/maincli"}},
	"cmd/trust":   {},
	"cmd/initial": {ours: []string{"cmd/config", "runner"}},
	"cmd/config":  {ours: []string{"runner"}, theirs: []string{"gopkg.in/yaml.v3", "github.com/mattn/go-shellwords"}},
	"shard": {
		ours:   []string{"shard/...", "runner", "report", "report/ci", "report/page", "report/text"},
		theirs: []string{"golang.org/x/sync/errgroup"},
		tests:  []string{"github.com/santhosh-tekuri/jsonschema/v6"},
	},
	"shard/screen": {ours: []string{"report/ci", "report/text"}},
	"shard/units":  {theirs: []string{"github.com/bmatcuk/doublestar/v4", "github.com/maruel/natural"}},
	"shard/timing": {ours: []string{"shard/units", "report/text"}},
	"shard/plan":   {ours: []string{"shard/units"}},
	"shard/ledger": {ours: []string{"shard/units", "report/text"}},
	"runner":       {},
	"runner/pack":  {ours: []string{"runner"}, theirs: []string{"github.com/klauspost/compress/zstd"}},
	"runner/files": {
		ours: []string{"runner"}, theirs: []string{"golang.org/x/sys", "github.com/bmatcuk/doublestar/v4"},
	},
	"runner/keeper": {
		ours: []string{"runner", "runner/keeper/...", "runner/files"}, theirs: []string{"golang.org/x/sys"},
	},
	"runner/gvisor": {
		ours:   []string{"runner", "runner/gvisor/...", "runner/keeper/...", "runner/files", "runner/pack"},
		theirs: []string{"golang.org/x/sys", "gvisor.dev/gvisor", "github.com/opencontainers/runtime-spec"},
	},
	"runner/host":        {ours: []string{"runner", "runner/host/...", "runner/keeper/...", "runner/files"}, theirs: []string{"golang.org/x/sys"}},
	"runner/conformance": {ours: []string{"runner"}},
	"smolvm":             {ours: []string{"runner", "runner/files", "runner/pack"}, theirs: []string{"golang.org/x/sys"}},
	"smolvm/smolvmtest":  {ours: []string{"runner", "runner/gvisor"}, theirs: []string{"golang.org/x/term"}},
	"smolvm/smolvmtest/smolvm": {
		ours: []string{"smolvm/smolvmtest", "runner/gvisor"}, theirs: []string{"gvisor.dev/gvisor/runsc/cli/maincli"},
	},
	"report/page": {},
	"report/text": {},
	"report/ci":   {ours: []string{"report/text"}},
	"report":      {theirs: []string{"github.com/joshdk/go-junit"}},
	"release":     {},
}

// folders are all that may lie at the top.
var folders = []string{"cmd", "shard", "runner", "smolvm", "report", "release", "examples", ".ci", ".git", ".github"}

// vague are names of folders and files that say nothing.
var vague = []string{"utils", "common", "helpers", "shared", "base", "misc"}

// The test reads the files itself. One that asks `go list` keeps its cached pass after an import elsewhere has broken
// the rule, since the test's own inputs did not change.
func TestLayout(t *testing.T) {
	for _, v := range violations(t, os.DirFS(".")) {
		t.Error(v)
	}
}

func TestLayoutFindsViolations(t *testing.T) {
	file := func(imports ...string) *fstest.MapFile {
		text := "package x\n"
		for _, i := range imports {
			text += "import _ \"" + i + "\"\n"
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	tree := fstest.MapFS{
		"runner/a.go":           file("os", module+"shard", module+"runner/host"),
		"runner/gvisor/a.go":    file("gvisor.dev/gvisor/runsc/container", module+"runner/host"),
		"runner/gvisor/b/b.go":  file(module+"cmd", module+"runner/keeper"),
		"shard/a.go":            file("github.com/spf13/cobra"),
		"shard/a_test.go":       file("github.com/rogpeppe/go-internal/testscript"),
		"cmd/a.go":              file("github.com/rogpeppe/go-internal/testscript", module+"shard"),
		"cmd/a_test.go":         file("github.com/rogpeppe/go-internal/testscript", module+"cmd"),
		"report/utils.go":       file(),
		"smolvm/a.go":           file(module + "smolvm/smolvmtest"),
		"smolvm/a_test.go":      file(module + "smolvm/smolvmtest"),
		"report/page/a.go":      file("html/template", module+"report", module+"shard"),
		"tools/a.go":            file(),
		"examples/own/go.mod":   &fstest.MapFile{Data: []byte("module x\n")},
		"examples/own/main.go":  file("example.com/anything"),
		"cmd/testdata/x/bad.go": file("example.com/anything"),
	}
	want := []string{
		"cmd/a.go may not import github.com/rogpeppe/go-internal/testscript",
		"report/page/a.go may not import github.com/boxer-ci/boxer/report",
		"report/page/a.go may not import github.com/boxer-ci/boxer/shard",
		"report/utils.go: the name says nothing",
		"runner/a.go may not import github.com/boxer-ci/boxer/runner/host",
		"runner/a.go may not import github.com/boxer-ci/boxer/shard",
		"runner/gvisor/a.go imports gvisor.dev/gvisor/runsc/container, so it needs //go:build linux && !cgo",
		"runner/gvisor/a.go may not import github.com/boxer-ci/boxer/runner/host",
		"runner/gvisor/b/b.go may not import github.com/boxer-ci/boxer/cmd",
		"shard/a.go may not import github.com/spf13/cobra",
		"shard/a_test.go may not import github.com/rogpeppe/go-internal/testscript",
		"smolvm/a.go may not import github.com/boxer-ci/boxer/smolvm/smolvmtest",
		"tools: no new folder at the top",
	}
	if got := violations(t, tree); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// violations walks the module, without the modules inside it.
func violations(t *testing.T, tree fs.FS) []string {
	var out []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(tree, name, &out)
		}
		if path.Ext(name) == ".go" {
			if slices.Contains(vague, strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".go"), "_test")) {
				out = append(out, name+": the name says nothing")
			}
			out = append(out, wrongImports(t, tree, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func enter(tree fs.FS, name string, out *[]string) error {
	if name == "." {
		return nil
	}
	if !strings.Contains(name, "/") && !slices.Contains(folders, name) && hasGo(tree, name) {
		*out = append(*out, name+": no new folder at the top")
	}
	if path.Base(name) == "testdata" || path.Base(name) == "node_modules" || strings.HasPrefix(path.Base(name), ".") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, name+"/go.mod"); err == nil {
		return fs.SkipDir
	}
	if slices.Contains(vague, path.Base(name)) {
		*out = append(*out, name+": the name says nothing")
	}
	return nil
}

// hasGo keeps the report folders that runs leave at the top out of it.
func hasGo(tree fs.FS, name string) bool {
	found := false
	fs.WalkDir(tree, name, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".go" {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func wrongImports(t *testing.T, tree fs.FS, name string) []string {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !allowed(name, imported) {
			out = append(out, fmt.Sprintf("%s may not import %s", name, imported))
		}
		// A build with cgo cannot be started again inside the sandbox, so what links gVisor must be left out of it.
		if below(imported, "gvisor.dev/gvisor") && !strings.Contains(string(src), "//go:build linux && !cgo\n") {
			out = append(out, fmt.Sprintf("%s imports %s, so it needs //go:build linux && !cgo", name, imported))
		}
	}
	return out
}

func allowed(name, imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	dir := path.Dir(name)
	r := ruleOf(dir)
	test := strings.HasSuffix(name, "_test.go")
	folder, ours := strings.CutPrefix(imported, module)
	switch {
	case ours && test && slices.Contains([]string{dir, "runner/conformance", "smolvm/smolvmtest"}, folder):
		return true
	case ours:
		return slices.ContainsFunc(r.ours, func(o string) bool { return covers(o, folder) })
	case test && slices.ContainsFunc(r.tests, func(p string) bool { return below(imported, p) }):
		return true
	}
	return slices.ContainsFunc(r.theirs, func(p string) bool { return below(imported, p) })
}

func covers(entry, folder string) bool {
	if tree, ok := strings.CutSuffix(entry, "/..."); ok {
		return below(folder, tree)
	}
	return folder == entry
}

func ruleOf(dir string) rule {
	for d := dir; ; d = path.Dir(d) {
		if r, ok := layout[d]; ok {
			return r
		}
		if d == "." {
			return rule{}
		}
	}
}

func below(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
