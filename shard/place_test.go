package shard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, "secret.js", "")
	top := t.TempDir()
	for _, f := range []string{"pkg/a.test.js", "b.py", "node_modules/x/c.js", "pkg/sub/d_test.go"} {
		put(t, top, f, "")
	}
	if err := os.Symlink(outside, filepath.Join(top, "away")); err != nil {
		t.Fatal(err)
	}
	o := Options{Scope: runner.Scope{Worktree: top}, Base: filepath.Join(top, "pkg"), Dir: filepath.Join(top, "pkg", "sub")}
	for _, tt := range []struct {
		name     string
		in       report.Case
		wantFile string
		wantLine int
	}{
		{"as seen from where it ran", report.Case{File: "d_test.go", Line: 3}, "pkg/sub/d_test.go", 3},
		{"as seen from boxer.yaml", report.Case{File: "a.test.js", Line: 3}, "pkg/a.test.js", 3},
		{"as seen from the repository", report.Case{File: "b.py"}, "b.py", 0},
		{"absolute", report.Case{File: top + "/pkg/a.test.js", Line: 4}, "pkg/a.test.js", 4},
		{"a line from the text", report.Case{File: "a.test.js", Body: "at x (" + top + "/b.py:1:1)\nat " + top + "/pkg/a.test.js:9:3"}, "pkg/a.test.js", 9},
		{"a place from the text", report.Case{Body: "at f (file://" + top + "/pkg/a.test.js:12:5)"}, "pkg/a.test.js", 12},
		{"go", report.Case{Body: "    d_test.go:12: 3 items, want 2"}, "pkg/sub/d_test.go", 12},
		{"python", report.Case{Body: "  File \"" + top + "/b.py\", line 7, in test_x"}, "b.py", 7},
		{"other people's code", report.Case{Body: top + "/node_modules/x/c.js:1:1\n../a.test.js:2:2"}, "pkg/a.test.js", 2},
		{"nothing outside", report.Case{Body: "/etc/passwd.sh:1 ../../../x.js:3 " + outside + "/secret.js:3"}, "", 0},
		{"nothing behind a symlink", report.Case{Body: top + "/away/secret.js:3"}, "", 0},
		{"not there", report.Case{File: "gone.js", Line: 5}, "gone.js", 5},
		{"a time is no place", report.Case{Body: "at 12:30 in v1.2.3:4 b.py:99999999999999"}, "", 0},
	} {
		cases := []report.Case{tt.in}
		o.locate(cases)
		if got := cases[0]; got.File != tt.wantFile || got.Line != tt.wantLine {
			t.Errorf("%s: %q:%d, want %q:%d", tt.name, got.File, got.Line, tt.wantFile, tt.wantLine)
		}
	}
}
