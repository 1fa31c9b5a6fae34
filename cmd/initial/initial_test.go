package initial

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// folder makes a project from "name", "text" pairs.
func folder(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// loaded is what boxer reads from the plan's file.
func loaded(t *testing.T, p Plan) config.Config {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(p.YAML()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Request{Dir: dir, Scope: runner.Scope{Worktree: dir}})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.YAML())
	}
	return c
}

const manifestOf = `{"scripts": {"test": "SCRIPT"}, "devDependencies": {"PACKAGE": "^1"}}`

func npm(tool, script string) string {
	return strings.NewReplacer("PACKAGE", tool, "SCRIPT", script).Replace(manifestOf)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	const (
		mochaLine = "node_modules/.bin/mocha --reporter xunit --reporter-option output=junit.xml <tests>"
		ofVitest  = " run --shard=<i>/<n> --reporter=default --reporter=junit --outputFile.junit=reports/shard-<i>.xml"
		ofJUnit   = "reports/shard-<i>.xml"
		packages  = "go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./..."
		ofNode    = " --test-shard=<i>/<n> \\\n  --test-reporter=spec --test-reporter-destination=stdout \\\n" +
			"  --test-reporter=junit --test-reporter-destination=reports/shard-<i>.xml"
	)
	for _, c := range []struct {
		name    string
		files   []string
		kind    string
		command string // how it ends
		junit   string
		dealt   string // "" if the runner splits by itself
	}{
		{"vitest", []string{"package.json", npm("vitest", "vitest"), "package-lock.json", ""}, "vitest", "node_modules/.bin/vitest" + ofVitest, ofJUnit, ""},
		{"vitest with its own flags", []string{"package.json", npm("vitest", "vitest run --environment jsdom"), "package-lock.json", ""},
			"vitest", "node_modules/.bin/vitest run --environment jsdom" + strings.TrimPrefix(ofVitest, " run"), ofJUnit, ""},
		{"vitest that is not the test script", []string{"package.json", npm("vitest", "echo none"), "yarn.lock", ""}, "vitest", "node_modules/.bin/vitest" + ofVitest, ofJUnit, ""},
		{"vitest in a workspace", []string{"package.json", npm("vitest", "vitest")}, "vitest", "npx --no vitest" + ofVitest, ofJUnit, ""},
		{"vitest in a workspace of pnpm", []string{"package.json", `{"packageManager": "pnpm@9.1.0", "devDependencies": {"vitest": "3"}}`}, "vitest", "pnpm exec vitest" + ofVitest, ofJUnit, ""},
		{"vitest with Plug'n'Play", []string{"package.json", npm("vitest", "vitest"), "yarn.lock", "", ".pnp.cjs", ""}, "vitest", "yarn vitest" + ofVitest, ofJUnit, ""},
		{"jest", []string{"package.json", npm("jest", "jest --watch"), "package-lock.json", ""}, "jest", "node_modules/.bin/jest --ci --shard=<i>/<n>", "", ""},
		{"jest with a byte order mark", []string{"package.json", "\ufeff" + npm("jest", "jest"), "package-lock.json", ""}, "jest", "node_modules/.bin/jest --ci --shard=<i>/<n>", "", ""},
		{"jest with jest-junit", []string{"package.json", `{"devDependencies": {"jest": "30", "jest-junit": "16"}}`, "pnpm-lock.yaml", ""},
			"jest", "node_modules/.bin/jest --ci --shard=<i>/<n> --reporters=default --reporters=jest-junit", ofJUnit, ""},
		{"jest behind another program", []string{"package.json", npm("jest", "cross-env A=1 jest"), "package-lock.json", ""}, "jest", "npm test -- --ci --shard=<i>/<n>", "", ""},
		{"jest behind a variable", []string{"package.json", npm("jest", "NODE_OPTIONS=--experimental-vm-modules jest"), "pnpm-lock.yaml", ""}, "jest", "pnpm test --ci --shard=<i>/<n>", "", ""},
		{"jest in a line for a shell", []string{"package.json", npm("jest", "tsc && jest"), "yarn.lock", ""}, "jest", "yarn test --ci --shard=<i>/<n>", "", ""},
		{"mocha", []string{"package.json", npm("mocha", "mocha"), "package-lock.json", "", "test/a.js", ""},
			"mocha", mochaLine, "junit.xml", "test/*.{js,cjs,mjs}"},
		{"mocha with specs", []string{"package.json", npm("mocha", "mocha"), "package-lock.json", "", "test/a.js", "", "test/b/c.spec.mjs", ""},
			"mocha", mochaLine, "junit.xml", "test/**/*.{test,spec}.*s"},
		{"mocha in folders", []string{"package.json", npm("mocha", "mocha"), "package-lock.json", "", "spec/x/a.js", ""},
			"mocha", mochaLine, "junit.xml", "spec/**/*.{js,cjs,mjs}"},
		{"mocha that says so", []string{"package.json", npm("mocha", "mocha"), "package-lock.json", "", "test/a.js", "", ".mocharc.yml", "recursive: true"},
			"mocha", mochaLine, "junit.xml", "test/**/*.{js,cjs,mjs}"},
		{"node", []string{"package.json", `{"scripts": {"test": "node --test"}}`}, "node", "node --test" + ofNode, ofJUnit, ""},
		{"node with flags and files", []string{"package.json", `{"scripts": {"test": "node --import tsx --test 'test/**/*.ts'"}}`},
			"node", "node --import tsx --test" + ofNode + " 'test/**/*.ts'", ofJUnit, ""},
		{"node with a flag of a like name", []string{"package.json", `{"scripts": {"test": "lint && node --test-concurrency=1 --test"}}`},
			"node", "lint && node --test-concurrency=1 --test" + ofNode, ofJUnit, ""},
		{"node by a test file", []string{"package.json", `{}`, "test/a.test.mjs", "import test from 'node:test'"}, "node", "node --test" + ofNode, ofJUnit, ""},
		{"playwright", []string{"package.json", npm("@playwright/test", "playwright test --project chromium"), "package-lock.json", ""},
			"playwright", "node_modules/.bin/playwright test --project chromium --shard=<i>/<n> --reporter=list,junit", ofJUnit, ""},
		{"playwright by the way", []string{"package.json", npm("@playwright/test", "eslint .")}, "playwright", "npx --no playwright test --shard=<i>/<n> --reporter=list,junit", ofJUnit, ""},
		{"go", []string{"go.mod", "module x"}, "go", "go test <tests>", "", packages},
		{"go with gotestsum", []string{"go.mod", "module x\ntool gotest.tools/gotestsum\n"}, "go", "go tool gotestsum --junitfile junit.xml -- <tests>", "junit.xml", packages},
		{"pytest", []string{"pytest.ini", "", "tests/test_a.py", ""}, "pytest", "python3 -m pytest --junitxml=junit.xml <tests>", "junit.xml", "tests/**/{test_*,*_test}.py"},
		{"pytest beside the code", []string{"pytest.ini", "", "tests/data.txt", "", "shop/test_a.py", ""}, "pytest", "python3 -m pytest --junitxml=junit.xml <tests>",
			"junit.xml", "**/{test_*,*_test}.py !**/venv/**"},
		{"pytest with uv", []string{"pyproject.toml", "[tool.pytest.ini_options]", "uv.lock", ""}, "pytest", "uv run --no-sync python -m pytest --junitxml=junit.xml <tests>",
			"junit.xml", "**/{test_*,*_test}.py !**/venv/**"},
		{"pytest with pytest-split", []string{"requirements.txt", "pytest\npytest-split\n"}, "pytest", "python3 -m pytest --junitxml=reports/shard-<i>.xml --splits <n> --group <i>", ofJUnit, ""},
		{"rspec", []string{"Gemfile", "gem 'rspec'"}, "rspec", "bundle exec rspec <tests>", "", "spec/**/*_spec.rb"},
		{"rspec with reports", []string{"Gemfile", "gem 'rspec'\ngem 'rspec_junit_formatter'"}, "rspec",
			"bundle exec rspec --format progress --format RspecJunitFormatter --out junit.xml <tests>", "junit.xml", "spec/**/*_spec.rb"},
		{"maven", []string{"pom.xml", "<project/>", "mvnw", ""}, "maven",
			"IFS=,\nexec ./mvnw -o -B test -Dsurefire.failIfNoSpecifiedTests=false -Dtest=\"$*\"\n sh <tests>", "", classes + "\n"},
		{"maven with modules", []string{"pom.xml", "<modules>"}, "maven", "-Dtest=\"$*\"\n sh <tests>", "**/target/surefire-reports/TEST-*.xml", classes + "\n"},
		{"gradle", []string{"build.gradle.kts", ""}, "gradle", "exec gradle --offline --no-daemon test \"$@\"\n sh <tests>", "", classes + "\n"},
		{"nextest", []string{"Cargo.toml", ""}, "nextest", "cargo nextest run --offline --partition count:<i>/<n>", "", ""},
		{"nextest with a report", []string{"Cargo.toml", "", ".config/nextest.toml", "[profile.ci.junit]\npath = \"junit.xml\"\n"}, "nextest",
			"cargo nextest run --offline --partition count:<i>/<n> --profile ci", "target/nextest/ci/junit.xml", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := Detect(folder(c.files...))
			if err != nil || len(found) != 1 || found[0].Kind != c.kind || found[0].By == "" {
				t.Fatalf("found %+v, %v", found, err)
			}
			got := loaded(t, found[0])
			command := strings.TrimSuffix(strings.Join(got.Shard.Command, " "), "\n")
			if exact := found[0].Line != ""; (exact && command != c.command) || !strings.HasSuffix(command, c.command) {
				t.Errorf("got  %s\nwant %s", command, c.command)
			}
			if junit := strings.Join(got.Shard.JUnit, " "); junit != c.junit {
				t.Errorf("reports %q", junit)
			}
			if dealt := strings.Join(got.Shard.Tests, " ") + got.Shard.List; dealt != c.dealt {
				t.Errorf("dealt %q, want %q", dealt, c.dealt)
			}
		})
	}
}

// Every row of the table has a project above, and what is written for it can be read.
func TestOtherIsADraft(t *testing.T) {
	t.Parallel()
	if got := loaded(t, Other()); len(got.Shard.Command) != 0 {
		t.Errorf("got %q", got.Shard.Command)
	}
	if found, err := Detect(folder("README.md", "")); len(found) != 0 || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	if kinds := Kinds(); kinds[len(kinds)-1] != "other" || len(kinds) != 12 {
		t.Errorf("kinds %q: add a row to TestKinds", kinds)
	}
}

// What is only commented out must be right as well: a person takes the marks away.
func TestCommentsHoldSettings(t *testing.T) {
	t.Parallel()
	found, err := Detect(folder("package.json", npm("vitest", "vitest"), "package-lock.json", ""))
	if err != nil {
		t.Fatal(err)
	}
	var active []string
	for _, line := range strings.Split(found[0].YAML(), "\n") {
		bare := strings.TrimPrefix(strings.TrimLeft(line, " "), "# ")
		isSetting := strings.HasPrefix(bare, "- name") || strings.HasPrefix(bare, "  run") || strings.HasPrefix(bare, "  ready") || strings.HasPrefix(bare, "  - name") || strings.HasPrefix(bare, "    run") || strings.HasPrefix(bare, "    ready")
		for _, key := range []string{"env:", "services:", "setup:", "smolvm:", "count:", "artifacts:", "timeout:"} {
			isSetting = isSetting || strings.HasPrefix(bare, key)
		}
		if isSetting {
			line = strings.Replace(line, "# ", "", 1)
		}
		active = append(active, line)
	}
	dir := t.TempDir()
	text := strings.Join(active, "\n")
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(config.Request{Dir: dir, Scope: runner.Scope{Worktree: dir}})
	if err != nil || got.Shard.Count != 4 || len(got.Services) != 1 || len(got.Setup) != 1 || got.Smolvm.Image == "" || got.Shard.Timeout == 0 || len(got.Env) != 2 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestSeveralKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"the test script decides", []string{"package.json", `{"scripts": {"test": "jest"}, "devDependencies": {"vitest": "3", "jest": "30"}}`}, []string{"jest", "vitest"}},
		{"the order of the table decides", []string{"package.json", `{"devDependencies": {"@playwright/test": "1", "jest": "30"}}`, "go.mod", ""}, []string{"jest", "playwright", "go"}},
		{"a package.json without tests", []string{"package.json", `{"scripts": {"test": "eslint ."}}`, "pytest.ini", ""}, []string{"pytest"}},
		{"jest-junit alone is no jest", []string{"package.json", npm("jest-junit", "x")}, nil},
		{"a name within a name", []string{"package.json", `{"scripts": {"test": "my-jest run"}}`}, nil},
		{"tests of packages are not the project's", []string{"package.json", "{}", "node_modules/x/a.test.js", "node:test"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := Detect(folder(c.files...))
			var kinds []string
			for _, p := range found {
				kinds = append(kinds, p.Kind)
			}
			if err != nil || !slices.Equal(kinds, c.want) {
				t.Errorf("found %q, %v", kinds, err)
			}
		})
	}
}

func TestMochaThatNamesItsFiles(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{
		{"package.json", npm("mocha", "mocha"), ".mocharc.json", `{"spec": ["test/*.js"]}`},
		{"package.json", npm("mocha", "mocha"), ".mocharc.yml", "spec: test/*.js"},
		{"package.json", `{"devDependencies": {"mocha": "11"}, "mocha": {"spec": "test"}}`},
	} {
		found, err := Detect(folder(files...))
		if err != nil || len(found) != 1 || !strings.Contains(strings.Join(found[0].Notes, " "), "take it out of there") {
			t.Errorf("%q: %+v, %v", files, found, err)
		}
	}
}

func TestBrokenManifest(t *testing.T) {
	t.Parallel()
	if _, err := Detect(folder("package.json", "{")); err == nil || !strings.Contains(err.Error(), "package.json cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestClassesOfJava(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range []string{"core/src/test/java/com/acme/CartTest.java", "core/src/test/java/com/acme/Helper.java", "src/test/kotlin/com/acme/TaxTest.kt", "src/main/java/com/acme/LoadTest.java"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"pom.xml": "-Dtest=com.acme.CartTest,com.acme.TaxTest", "build.gradle": "--tests com.acme.CartTest --tests com.acme.TaxTest"} {
		found, err := Detect(folder(name, ""))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		list := exec.Command("sh", "-c", found[0].List)
		list.Dir = dir
		classes, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		script := strings.NewReplacer("exec mvn", "echo", "exec gradle", "echo").Replace(found[0].Script)
		out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, slices.Sorted(slices.Values(strings.Fields(string(classes))))...)...).CombinedOutput()
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
