package units

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(root, "web")
	for _, dir := range []string{"web/app.v2", "test"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(root, alias); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, base, root, want string }{
		{"test/a.js", root, root, "test/a.js"},
		{"./test/a.js", root, root, "test/a.js"},
		{"././test//a.js", root, root, "test/a.js"},
		{`.\test\a.js`, root, root, "test/a.js"},
		{`test\a.js`, root, root, "test/a.js"},
		{"test/x/../a.js", root, root, "test/a.js"},
		{root + "/test/a.js", root, root, "test/a.js"},
		{root, root, root, "."},
		{root + "2/a.js", root, root, root + "2/a.js"},
		{"/elsewhere/./a.js", root, root, "/elsewhere/a.js"},
		{"-a.js", root, root, "-a.js"},
		{"./-a.js", root, root, "-a.js"},
		{"my tests/a b.js", root, root, "my tests/a b.js"},
		{"..a/b.js", root, root, "..a/b.js"},
		// Links to the root, on either side.
		{alias + "/test/a.js", root, root, alias + "/test/a.js"}, // nothing is there to follow
		{alias + "/test", root, root, "test"},
		{root + "/test/a.js", alias, alias, "test/a.js"},
		{"test/a.js", root, alias, "test/a.js"},
		// A base below the root.
		{"a.js", sub, root, "web/a.js"},
		{"./a.js", sub, root, "web/a.js"},
		{"../test/a.js", sub, root, "test/a.js"},
		{root + "/test/a.js", sub, root, "test/a.js"},
		{"app.v2/a.js", sub, root, "web/app.v2/a.js"},
		// Packages, tests and what else a list may hold.
		{"./pkg/a", root, root, "pkg/a"},
		{"./...", root, root, "..."},
		{"./pkg/a/", root, root, "pkg/a"},
		{"./pkg/a", sub, root, "web/pkg/a"},
		{"github.com/x/y/v2", root, root, "github.com/x/y/v2"},
		{"github.com/x/y/v2", sub, root, "github.com/x/y/v2"},
		{"com.example.FooTest", root, root, "com.example.FooTest"},
		{"test/a.py::TestX::test_y[a\\b//c]", root, root, "test/a.py::TestX::test_y[a\\b//c]"},
		{"./test/a.py::test_y", sub, root, "web/test/a.py::test_y"},
		{"", sub, root, ""},
	} {
		if got := Normalise(tt.name, tt.base, tt.root); got != tt.want {
			t.Errorf("Normalise(%q, %q, %q) = %q, want %q", tt.name, tt.base, tt.root, got, tt.want)
		}
	}
}

func TestNormaliseTwiceIsOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"./a", `a\b`, "a//b", root + "/x", "/x/../y", "../a", "x::y//z"} {
		once := Normalise(name, root, root)
		if twice := Normalise(once, root, root); twice != once {
			t.Errorf("%q: %q, then %q", name, once, twice)
		}
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	got := Make([]string{"./a.js", "b.js", "a.js", root + "/b.js", "-c.js"}, root, root)
	want := []Unit{{"./a.js", "a.js"}, {"b.js", "b.js"}, {"-c.js", "-c.js"}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

func TestSafe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a": "a", "-a": "./-a", "--a=b": "./--a=b", "-": "./-", "./-a": "./-a", "/-a": "/-a", "a-b": "a-b", "": "",
	} {
		if got := Safe(name); got != want {
			t.Errorf("Safe(%q) = %q, want %q", name, got, want)
		}
	}
}
