package shard

import (
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "package.json", `{"scripts": {"test": "tsc && node --test", "e2e": "npx playwright test"}}`)
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{[]string{"npm", "test"}, "node writes"},
		{[]string{"npm", "run", "e2e"}, "playwright writes"},
		{[]string{"sh", "-c", "cd web && npx jest --ci"}, "jest writes"},
		{[]string{"node_modules/.bin/vitest"}, "vitest writes"},
		{[]string{"python", "-m", "pytest"}, "pytest writes"},
		{[]string{"go", "test", "./..."}, "go test writes"},
		{[]string{"go", "run", "."}, "most test runners"},
		{[]string{"test", "go"}, "most test runners"},
		{[]string{"cargo", "nextest", "run"}, "cargo nextest writes"},
		{[]string{"./run-tests"}, "most test runners"},
		{[]string{"yarn", "unknown"}, "most test runners"},
	} {
		if got := reporterHint(tt.command, dir); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %s", tt.command, got)
		}
	}
	if got := reporterHint([]string{"npm", "test"}, t.TempDir()); got != anyReporter {
		t.Errorf("without a package.json: %s", got)
	}
}
