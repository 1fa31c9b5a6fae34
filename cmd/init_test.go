package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/boxer-ci/boxer/cmd/initial"
	"github.com/boxer-ci/boxer/shard/units"
)

// The patterns that init writes find the tests of a project, and nobody else's.
func TestInitPatternsFindTheTests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files []string
		want  []string
	}{
		{[]string{"pytest.ini", "tests/test_b.py", "tests/sub/c_test.py", "tests/conftest.py", "test_out.py"}, []string{"tests/sub/c_test.py", "tests/test_b.py"}},
		{[]string{"pytest.ini", "test_a.py", "shop/b_test.py", ".venv/test_no.py", "venv/x/test_no.py", "a/node_modules/test_no.py"}, []string{"shop/b_test.py", "test_a.py"}},
		{[]string{".rspec", "spec/a_spec.rb", "spec/models/b_spec.rb", "spec/spec_helper.rb"}, []string{"spec/a_spec.rb", "spec/models/b_spec.rb"}},
		{[]string{"mocha", "test/a.js", "test/b.mjs", "test/fixtures/c.js", "test/d.json"}, []string{"test/a.js", "test/b.mjs"}},
		{[]string{"mocha", "test/helper.js", "test/a.test.js", "test/deep/b.spec.cjs"}, []string{"test/a.test.js", "test/deep/b.spec.cjs"}},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			text := ""
			if f == "mocha" {
				f, text = "package.json", `{"devDependencies": {"mocha": "^11"}}`
			}
			path := filepath.Join(dir, f)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		found, err := initial.Detect(os.DirFS(dir))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if got, err := units.Glob(dir, found[0].Tests); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q finds %q, %v", found[0].Tests, got, err)
		}
	}
}
