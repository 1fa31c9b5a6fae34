package units

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plant makes files, and links where a name has an arrow.
func plant(t *testing.T, names ...string) string {
	t.Helper()
	base := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		file := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func TestGlob(t *testing.T) {
	t.Parallel()
	base := plant(t,
		"test/a2.test.js", "test/a10.test.js", "test/a1.test.js", "test/deep/er/b.test.js", "test/lib.js",
		"test/e2e/slow.test.js", "src/c.test.js", "src/app/[id]/page.test.js", "src/app/i/page.test.js",
		"node_modules/x/x.test.js", "src/node_modules/y/y.test.js", ".git/g.test.js", "boxer-report/shard-1/r.test.js",
		".venv/lib/v.test.js", "test/.cache/k.test.js", "test/._a1.test.js", "-odd/-x.test.js", "with space/s p.test.js",
		"dir.test.js/inner.txt", "linked.test.js -> test/a1.test.js", "loop -> .", "gone.test.js -> nowhere",
		"sym -> test/deep", "test/.test/t.test.js",
	)
	for _, tt := range []struct {
		name     string
		patterns []string
		want     string // separated by |
	}{
		{"one folder, in natural order", []string{"test/*.test.js"}, "test/a1.test.js|test/a2.test.js|test/a10.test.js"},
		{"a ./ in front", []string{"./test/*.test.js"}, "test/a1.test.js|test/a2.test.js|test/a10.test.js"},
		{"all below, without what is nobody's own", []string{"**/*.test.js"},
			"-odd/-x.test.js|linked.test.js|src/app/[id]/page.test.js|src/app/i/page.test.js|src/c.test.js|test/a1.test.js|" +
				"test/a2.test.js|test/a10.test.js|test/deep/er/b.test.js|test/e2e/slow.test.js|with space/s p.test.js"},
		{"each once", []string{"test/a1.test.js", "test/a?.test.js", "./test/a1*"}, "test/a1.test.js|test/a2.test.js|test/a10.test.js"},
		{"taken away", []string{"!test/e2e/**", "test/**/*.test.js", "!**/a10*"}, "test/a1.test.js|test/a2.test.js|test/deep/er/b.test.js"},
		{"a folder taken away", []string{"test/**/*.test.js", "!./test/deep/", "!test/e2e"}, "test/a1.test.js|test/a2.test.js|test/a10.test.js"},
		{"files taken away, and not the folders beside them", []string{"test/**/*.test.js", "!test/*", "!**/x"}, "test/deep/er/b.test.js|test/e2e/slow.test.js"},
		{"taken away, nothing", []string{"test/a1.test.js", "!**/node_modules/**"}, "test/a1.test.js"},
		{"a dependency by name", []string{"node_modules/x/*.js"}, "node_modules/x/x.test.js"},
		{"dependencies by name, anywhere", []string{"**/node_modules/**/*.test.js"}, "node_modules/x/x.test.js|src/node_modules/y/y.test.js"},
		{"a dot spelled", []string{".venv/**/*.js", "test/.c*/*.js"}, ".venv/lib/v.test.js|test/.cache/k.test.js"},
		{"a dot file spelled", []string{"test/.*.js"}, "test/._a1.test.js"},
		{"braces", []string{"{src,test}/{a1,c}.test.js"}, "src/c.test.js|test/a1.test.js"},
		{"brackets that are a name", []string{"src/app/[id]/page.test.js"}, "src/app/[id]/page.test.js"},
		{"brackets escaped", []string{`src/app/\[id\]/*.js`}, "src/app/[id]/page.test.js"},
		{"a class", []string{"src/app/[i]/*.js"}, "src/app/i/page.test.js"},
		{"a plain name", []string{"with space/s p.test.js"}, "with space/s p.test.js"},
		{"a link to a folder, spelled", []string{"sym/**/*.test.js"}, "sym/er/b.test.js"},
		{"out and in again", []string{"test/../src/*.test.js"}, "src/c.test.js"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Glob(base, tt.patterns)
			if err != nil || strings.Join(got, "|") != tt.want {
				t.Errorf("got  %s, %v\nwant %s", strings.Join(got, "|"), err, tt.want)
			}
		})
	}
	t.Run("from a folder beside", func(t *testing.T) {
		t.Parallel()
		got, err := Glob(filepath.Join(base, "src"), []string{"../test/*.test.js", "c.test.js"})
		if want := []string{"../test/a1.test.js", "../test/a2.test.js", "../test/a10.test.js", "c.test.js"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("absolute", func(t *testing.T) {
		t.Parallel()
		got, err := Glob(t.TempDir(), []string{filepath.ToSlash(base) + "/src/*.test.js"})
		if want := []string{filepath.ToSlash(base) + "/src/c.test.js"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestGlobRefuses(t *testing.T) {
	t.Parallel()
	base := plant(t, "test/a.test.js", "test/b.test.js")
	for _, tt := range []struct {
		name     string
		patterns []string
		want     []string // each is in the error
	}{
		{"all at once", []string{"tests/*.js", "[", "test/*.js", "*.py", "!{"}, []string{
			`the pattern "tests/*.js" matches no file below ` + base + "/tests",
			`"[" is no valid pattern`,
			`the pattern "*.py" matches no file below ` + base,
			`"!{" is no valid pattern`,
		}},
		{"nothing at all", []string{"", "test/a.test.js"}, []string{`"" is no valid pattern`}},
		{"a folder", []string{"test"}, []string{`"test" is a folder: "test/**" names the files in it`}},
		{"only taking away", []string{"!test/**"}, []string{"patterns with a ! only take away"}},
		{"all taken away", []string{"test/*", "!test/**"}, []string{"take away all 2 files"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Glob(base, tt.patterns)
			if err == nil {
				t.Fatalf("got %q", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			if got, want := strings.Count(err.Error(), "\n"), len(tt.want)-1; got != want {
				t.Errorf("%d lines, want %d: %v", got+1, want+1, err)
			}
		})
	}
}

// A folder that nobody may read could hold tests, so it is not passed over in silence.
func TestGlobUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads every folder: run as another user")
	}
	base := plant(t, "test/a.test.js", "data/b.test.js")
	data := filepath.Join(base, "data")
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(data, 0o755) })
	if got, err := Glob(base, []string{"**/*.test.js"}); err == nil || !strings.Contains(err.Error(), `"!data/**"`) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := Glob(base, []string{"**/*.test.js", "!data/**"}); err != nil || !slices.Equal(got, []string{"test/a.test.js"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
