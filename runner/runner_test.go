package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestScopeIsTheWorktreeOrTheFolder(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, deep, plain := filepath.Join(base, "tree"), filepath.Join(base, "tree/a/b"), filepath.Join(base, "plain")
	for _, dir := range []string{deep, plain, filepath.Join(tree, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, worktree, kind string
	}{{tree, tree, "worktree"}, {deep, tree, "worktree"}, {link, tree, "worktree"}, {plain, plain, "folder"}} {
		s, err := ScopeOf(c.dir)
		if err != nil || s.Worktree != c.worktree || s.Kind() != c.kind {
			t.Errorf("ScopeOf(%s) = %+v, %v", c.dir, s, err)
		}
	}
	if _, err := ScopeOf(filepath.Join(base, "nowhere")); err == nil {
		t.Error("a folder that is not there has a scope")
	}
}

func TestSlugAndNames(t *testing.T) {
	t.Parallel()
	s := Scope{Key: "sb-7e1852e4a3c3", Slug: slugOf("sb-7e1852e4a3c3"), Git: true}
	if s.String() != "swift-crab (sb-7e1852e4a3c3, worktree)" {
		t.Errorf("got %s", s)
	}
	for name, want := range map[string]int{
		"swift-crab-f1": 1, "sb-7e1852e4a3c3-f12": 12, "swift-crab": 0, "swift-crab-f0": 0, "swift-crab-f01": 0,
		"swift-crab-f": 0, "other-crab-f1": 0, "swift-crab-f-1": 0,
	} {
		if got, ok := s.ChildIndex(name); got != want || ok != (want > 0) {
			t.Errorf("ChildIndex(%q) = %d, %v", name, got, ok)
		}
	}
	if c := s.Child(3); c.Key != "sb-7e1852e4a3c3-f3" || c.Slug != "swift-crab-f3" {
		t.Errorf("got %+v", c)
	}
	seen := map[string]bool{}
	for _, list := range [][64]string{adjectives, animals} {
		for _, w := range list {
			if w == "" || seen[w] {
				t.Errorf("the word %q is empty or there twice", w)
			}
			seen[w] = true
		}
	}
}

func TestErrorLayout(t *testing.T) {
	t.Parallel()
	e := (&Error{Reason: "it failed", Cause: NotForkable, Fix: "boxer up", Output: []string{"last"}}).
		Because(os.ErrNotExist).At(Scope{Key: "sb-7e1852e4a3c3", Slug: "swift-crab", Worktree: "/w", Git: true})
	want := strings.Join([]string{
		"boxer: it failed: file does not exist",
		"  scope:     swift-crab (sb-7e1852e4a3c3, worktree)",
		"  worktree:  /w",
		"  cause:     NOT_FORKABLE",
		"  fix:       boxer up",
		"  | last",
	}, "\n")
	if got := e.Layout(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !errors.Is(e, os.ErrNotExist) || CauseOf(errors.Join(errors.New("x"), e)) != NotForkable || CauseOf(nil) != "" {
		t.Error("the error hides what it is made of")
	}
}

func TestUndoRunsBackwardsAndGoesOn(t *testing.T) {
	t.Parallel()
	var u Undo
	var order []int
	for i := range 3 {
		u.Push("step", func(ctx context.Context) error {
			order = append(order, i)
			if ctx.Err() != nil {
				t.Error("a step got a context that had ended")
			}
			return map[bool]error{true: os.ErrPermission}[i == 1]
		})
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := u.Run(cancelled, time.Minute); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if len(order) != 3 || order[0] != 2 || order[2] != 0 {
		t.Errorf("order %v", order)
	}
	if err := u.Run(cancelled, time.Minute); err != nil || len(order) != 3 {
		t.Error("the steps ran twice")
	}
}

func TestSpecHash(t *testing.T) {
	t.Parallel()
	a := Spec{Dir: "/w", Setup: []SetupStep{{Run: "make"}}}
	same := a
	same.Env, same.Worktree = []string{"A=b"}, Private
	other := a
	other.Setup = []SetupStep{{Run: "make all"}}
	if a.Hash() != same.Hash() || a.Hash() == other.Hash() {
		t.Error("the hash goes by what it should not, or not by what it should")
	}
}

func TestStoreKeepsRecords(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	for _, w := range []string{"/b", "/a"} {
		if err := s.Put(Record{Scope: newScope(w, false), Backend: "host"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.All()
	if err != nil || len(all) != 2 || all[0].Scope.Worktree != "/a" {
		t.Errorf("%+v, %v", all, err)
	}
	key := newScope("/a", false).Key
	if err := errors.Join(s.Delete(key), s.Delete(key)); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(key); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFoldersArePrivate(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	d := Dirs{State: filepath.Join(base, "s/boxer"), Runtime: filepath.Join(base, "r"), Temp: filepath.Join(base, "t")}
	if err := errors.Join(d.Make(), d.Make()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.Temp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Make(); CauseOf(err) != "UNSAFE_FOLDER" {
		t.Errorf("a folder that others can enter: %v", err)
	}
}
