package initial

import (
	"fmt"
	"regexp"
	"strings"
)

func goTest(p *project) (Plan, bool) {
	if !p.has("go.mod") {
		return Plan{}, false
	}
	plan := Plan{
		// It brings the modules, and compiles on the machine, whose build cache the sandbox sees, what every shard would.
		By: "go.mod", Before: "go test -run '^$' ./...", Smolvm: "golang:1.26",
	}
	plan.List = `go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...` // those with tests
	if strings.Contains(p.text("go.mod"), "gotest.tools/gotestsum") {
		plan.Line, plan.JUnit = "go tool gotestsum --junitfile "+reportOfBatch+" -- <tests>", []string{reportOfBatch}
		plan.Before += " && go tool gotestsum --version"
	} else {
		plan.Line = "go test <tests>"
		plan.Notes = append(plan.Notes, "go test writes no JUnit report: with go get -tool gotest.tools/gotestsum, boxer init again writes a file that does.")
	}
	return plan, true
}

func pytest(p *project) (Plan, bool) {
	by := p.first("pytest.ini", "conftest.py", "tests/conftest.py")
	if by == "" {
		if by = p.mentions("pytest", "pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt",
			"requirements/dev.txt", "requirements/test.txt", "Pipfile"); by != "" {
			by = "pytest in " + by
		}
	}
	if by == "" {
		return Plan{}, false
	}
	plan := Plan{By: by, Before: "pip install -r requirements.txt", Smolvm: "python:3.13"}
	run := "python3 -m pytest"
	switch {
	case p.has("uv.lock"):
		run, plan.Before = "uv run --no-sync python -m pytest", "uv sync --frozen"
	case p.has("poetry.lock"):
		run, plan.Before = "poetry run python -m pytest", "poetry install"
	case p.has("Pipfile.lock"):
		run, plan.Before = "pipenv run python -m pytest", "pipenv sync --dev"
	case p.first("requirements-dev.txt", "requirements/dev.txt", "requirements/test.txt", "requirements.txt") != "":
		plan.Before = "pip install -r " + p.first("requirements-dev.txt", "requirements/dev.txt", "requirements/test.txt", "requirements.txt")
	case p.has("pyproject.toml"):
		plan.Before = "pip install -e ."
	}
	run += " --junitxml="
	if p.mentions("pytest-split", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements/dev.txt", "requirements/test.txt", "Pipfile") != "" {
		plan.Line = run + report + " --splits <n> --group <i>"
		plan.JUnit = []string{report}
		return plan, true
	}
	plan.Line, plan.JUnit = run+reportOfBatch+" <tests>", []string{reportOfBatch}
	const files = "**/{test_*,*_test}.py"
	if folder := p.first("tests", "test"); folder != "" && p.find(folder, "test_*.py", "*_test.py") != "" {
		plan.Tests = []string{folder + "/" + files}
	} else {
		plan.Tests = []string{files, "!**/venv/**"}
	}
	return plan, true
}

func rspec(p *project) (Plan, bool) {
	by := p.mentions("rspec", "Gemfile", "Gemfile.lock")
	if by == "" {
		by = p.first(".rspec")
	}
	if by == "" {
		return Plan{}, false
	}
	plan := Plan{By: by, Before: "bundle install", Smolvm: "ruby:3.4"}
	plan.Tests, plan.Line = []string{"spec/**/*_spec.rb"}, "bundle exec rspec"
	if p.mentions("rspec_junit_formatter", "Gemfile", "Gemfile.lock") != "" {
		plan.Line += " --format progress --format RspecJunitFormatter --out " + reportOfBatch
		plan.JUnit = []string{reportOfBatch}
	} else {
		plan.Notes = append(plan.Notes, "rspec writes reports with rspec_junit_formatter: bundle add rspec_junit_formatter --group test, and boxer init again.")
	}
	plan.Line += " <tests>"
	return plan, true
}

// classes lists the test classes below the source folders by their whole names, as Surefire names its defaults.
const classes = `find . -path '*/src/test/*' \( -name 'Test*.java' -o -name '*Test.java' -o -name '*Tests.java' -o -name '*TestCase.java' -o -name '*Test.kt' \) |
  sed 's#.*/src/test/[a-z]*/##; s#\.[a-z]*$##; s#/#.#g'`

func maven(p *project) (Plan, bool) {
	if !p.has("pom.xml") {
		return Plan{}, false
	}
	run := "mvn"
	if p.has("mvnw") {
		run = "./mvnw"
	}
	plan := Plan{
		By: "pom.xml", Before: run + " -B dependency:go-offline", Smolvm: "maven:3-eclipse-temurin-21",
		Setup: []string{run + " -o -B -q test-compile"}, List: classes,
		Script: "IFS=,\nexec " + run + ` -o -B test -Dsurefire.failIfNoSpecifiedTests=false -Dtest="$*"`,
	}
	if strings.Contains(p.text("pom.xml"), "<modules>") {
		plan.JUnit = []string{"**/target/surefire-reports/TEST-*.xml"}
	}
	return plan, true
}

func gradle(p *project) (Plan, bool) {
	by := p.first("build.gradle", "build.gradle.kts")
	if by == "" {
		return Plan{}, false
	}
	run := "gradle"
	if p.has("gradlew") {
		run = "./gradlew"
	}
	plan := Plan{
		By: by, Before: run + " testClasses", Smolvm: "gradle:jdk21",
		Setup: []string{run + " --offline --no-daemon testClasses"}, List: classes,
		Script: `for class do set -- "$@" --tests "$class"; shift; done` + "\nexec " + run + ` --offline --no-daemon test "$@"`,
	}
	if p.mentions("include", "settings.gradle", "settings.gradle.kts") != "" {
		plan.Notes = append(plan.Notes, "Of several projects, test fails in one that has none of a batch's classes: set filter.isFailOnNoMatchingTests = false there.")
	}
	return plan, true
}

var junitOfNextest = regexp.MustCompile(`\[profile\.([A-Za-z0-9_-]+)\.junit\]\s*\n\s*path\s*=\s*"([^"\n]+)"`)

func nextest(p *project) (Plan, bool) {
	if !p.has("Cargo.toml") {
		return Plan{}, false
	}
	plan := Plan{
		By: "Cargo.toml", Before: "cargo fetch", Smolvm: "rust:1",
		Setup: []string{"cargo nextest run --offline --no-run"},
		Line:  "cargo nextest run --offline --partition count:<i>/<n>",
	}
	if m := junitOfNextest.FindStringSubmatch(p.text(".config/nextest.toml")); m != nil {
		plan.Line += " --profile " + m[1]
		plan.JUnit = []string{fmt.Sprintf("target/nextest/%s/%s", m[1], m[2])}
	} else {
		plan.Notes = append(plan.Notes, `cargo nextest writes a report if .config/nextest.toml has [profile.ci.junit] with path = "junit.xml": boxer init again uses it.`)
	}
	plan.Notes = append(plan.Notes, "cargo test cannot split; cargo nextest (cargo install cargo-nextest) can.")
	return plan, true
}
