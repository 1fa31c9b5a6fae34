package units

import "testing"

func TestIndex(t *testing.T) {
	t.Parallel()
	list := Make([]string{
		"test/a.test.js", "test/deep/a.test.js", "test/b.test.js", "tests/test_user.py", "tests/api/test_user.py",
		"src/test/java/com/acme/CartTest.java", "e2e/checkout.spec.ts", "./internal/cart", "github.com/acme/shop/internal/tax",
	}, "/repo", "/repo")
	x := NewIndex(list, "/repo", "/repo")
	for name, want := range map[string]string{
		"test/a.test.js":                    "test/a.test.js",
		"./test/a.test.js":                  "test/a.test.js",
		"/repo/test/b.test.js":              "test/b.test.js",
		"file:///repo/test/b.test.js":       "test/b.test.js",
		`test\b.test.js`:                    "test/b.test.js",
		"b.test.js":                         "test/b.test.js",
		"a.test.js":                         "", // two
		"deep/a.test.js":                    "test/deep/a.test.js",
		"checkout.spec.ts":                  "e2e/checkout.spec.ts",
		"/elsewhere/repo/test/b.test.js":    "test/b.test.js",
		"github.com/acme/shop/internal/tax": "github.com/acme/shop/internal/tax",
		"acme.com/shop/internal/cart":       "internal/cart",
		"cart":                              "",
		"":                                  "",
		"c.test.js":                         "",
	} {
		if got := x.Unit(Mention{File: name}); got != want {
			t.Errorf("the file %q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"tests.test_user":           "tests/test_user.py",
		"tests.test_user.TestLogin": "tests/test_user.py",
		"tests.api.test_user":       "tests/api/test_user.py",
		"com.acme.CartTest":         "src/test/java/com/acme/CartTest.java",
		"com.acme.CartTest$Empty":   "src/test/java/com/acme/CartTest.java",
		"CartTest":                  "", // nothing says that no other class has the name
		"b.test.js":                 "test/b.test.js",
		"the cart is empty":         "",
		"cart":                      "",
	} {
		if got := x.Unit(Mention{Class: name}); got != want {
			t.Errorf("the class %q: %q, want %q", name, got, want)
		}
	}
}

func TestNamesFile(t *testing.T) {
	t.Parallel()
	x := NewIndex(Make([]string{"tests/add.spec.js", "./cart", "a/CartTest.java"}, "/repo", "/repo"), "/repo", "/repo")
	for name, want := range map[string]bool{
		"items.setup.js": true, "tests/items.setup.js": true, "the parser.js works": false, "works in.js \n": false,
		"com.acme.CartTest": false, "cart": false, "": false, "items.setup.ts": false,
	} {
		if got := x.NamesFile(Mention{Class: name, Suite: name}); got != want {
			t.Errorf("a class and suite %q name a file: %v", name, got)
		}
	}
}
