package conformance

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

func removeFile(path string) { os.Remove(path) }

var fileQuestions = []question{
	{"collect brings regular files and names the rest", askCollect},
	{"collect takes what is new and what fits", askCollectSome},
	{"what leaves the worktree is refused", askCollectOutside},
	{"clear makes room for new files", askClear},
}

// collect brings the pick to a fresh folder.
func (b *bench) collect(s runner.Session, name string, p runner.Pick) (runner.Collected, string) {
	b.Helper()
	if p.Base == "" {
		p.Base = b.Scope.Worktree
	}
	dest := b.TempDir()
	root, err := os.OpenRoot(dest)
	b.ok(err)
	defer root.Close()
	got, err := s.Collect(b.ctx(), name, p, root)
	b.ok(err)
	return got, dest
}

func (b *bench) brings(what string, got runner.Collected, want ...string) {
	b.Helper()
	if !slices.Equal(got.Files, want) {
		b.Errorf("%s: %q, want %q; skipped %v", what, got.Files, want, got.Skipped)
	}
}

func askCollect(b *bench) {
	outside := b.TempDir()
	b.ok(os.WriteFile(outside+"/secret", []byte("secret"), 0o600))
	s := b.start(nil)
	b.sh(s, "", `mkdir -p reports/deep coverage "with space"
echo a >reports/a.xml; echo b >reports/deep/b.xml; echo c >reports/c.txt; echo d >"with space/d ü.xml"
ln -s `+outside+`/secret reports/link.xml; ln -s `+outside+` reports/folder; mkfifo reports/fifo.xml
head -c 3000000 /dev/zero >reports/big.xml`)
	got, dest := b.collect(s, "", runner.Pick{Patterns: []string{"reports/**/*.xml", "with space/*.xml"}})
	b.brings("collect", got, "reports/a.xml", "reports/big.xml", "reports/deep/b.xml", "with space/d ü.xml")
	text, err := os.ReadFile(dest + "/reports/deep/b.xml")
	b.ok(err)
	equal(b, "content", string(text), "b\n")
	info, err := os.Stat(dest + "/reports/big.xml")
	b.ok(err)
	equal(b, "size", info.Size(), 3000000)
	var skipped []string
	for _, sk := range got.Skipped {
		skipped = append(skipped, sk.Path)
		if sk.Reason == "" {
			b.Errorf("no reason for %s", sk.Path)
		}
	}
	for _, path := range []string{"reports/fifo.xml", "reports/link.xml"} {
		_, err := os.Lstat(b.path(path)) // a sandbox may keep its pipes to itself
		if err == nil && !slices.Contains(skipped, path) {
			b.Errorf("%s is not named: %v", path, got.Skipped)
		}
	}
	got, _ = b.collect(s, "", runner.Pick{Base: b.path("reports"), Patterns: []string{"*.txt"}})
	b.brings("from another base", got, "c.txt")
	got, _ = b.collect(s, "", runner.Pick{Patterns: []string{"none/**"}})
	b.brings("nothing", got)
}

func askCollectSome(b *bench) {
	b.write("old.xml", "old")
	old := time.Now().Add(-time.Hour)
	b.ok(os.Chtimes(b.path("old.xml"), old, old))
	s := b.start(nil)
	start := time.Now()
	b.sh(s, "", "echo new >new.xml; head -c 5000 /dev/zero >large.xml")
	got, _ := b.collect(s, "", runner.Pick{Patterns: []string{"*.xml"}, Since: start})
	b.brings("since", got, "large.xml", "new.xml")
	got, _ = b.collect(s, "", runner.Pick{Patterns: []string{"*.xml"}, Limit: 1000})
	b.brings("within the limit", got, "new.xml", "old.xml")
	if len(got.Skipped) != 1 || got.Skipped[0].Path != "large.xml" || !strings.Contains(got.Skipped[0].Reason, "limit") {
		b.Errorf("%v", got.Skipped)
	}
}

func askCollectOutside(b *bench) {
	s := b.start(nil)
	root, err := os.OpenRoot(b.TempDir())
	b.ok(err)
	defer root.Close()
	for _, p := range []runner.Pick{
		{Base: b.Scope.Worktree, Patterns: []string{"../*"}},
		{Base: b.Scope.Worktree, Patterns: []string{"/etc/passwd"}},
		{Base: "/etc", Patterns: []string{"passwd"}},
		{Base: b.Scope.Worktree + "/..", Patterns: []string{"**"}},
	} {
		if got, err := s.Collect(b.ctx(), "", p, root); err == nil {
			b.Errorf("%+v brought %v", p, got)
		}
		if err := s.Clear(b.ctx(), "", p); err == nil {
			b.Errorf("%+v was cleared", p)
		}
	}
	b.sh(s, "", "ln -s / up")
	got, err := s.Collect(b.ctx(), "", runner.Pick{Base: b.path("up/etc"), Patterns: []string{"passwd"}}, root)
	if err == nil && len(got.Files) > 0 {
		b.Errorf("through a symlink it brought %v", got)
	}
}

func askClear(b *bench) {
	s := b.start(nil)
	b.sh(s, "", "mkdir -p r/s; echo 1 >r/1.xml; echo 2 >r/s/2.xml; echo 3 >r/3.txt; echo keep >keep; ln -s ../keep r/l.xml")
	pick := runner.Pick{Base: b.Scope.Worktree, Patterns: []string{"r/**/*.xml"}}
	b.ok(s.Clear(b.ctx(), "", pick))
	got, _ := b.collect(s, "", pick)
	b.brings("after the clearing", got)
	equal(b, "what no pattern names", b.sh(s, "", "cat r/3.txt keep"), "3\nkeep")
	b.sh(s, "", "echo again >r/1.xml")
	got, _ = b.collect(s, "", pick)
	b.brings("after that", got, "r/1.xml")
	b.ok(s.Clear(b.ctx(), "", pick))
	b.ok(s.Clear(b.ctx(), "", pick))
}
