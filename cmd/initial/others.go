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
	run := "go test"
	if strings.Contains(p.text("go.mod"), "gotest.tools/gotestsum") {
		run = "go tool gotestsum --junitfile " + report + " --"
		plan.Before += " && go tool gotestsum --version"
	} else {
		plan.Notes = append(plan.Notes, "go test writes no JUnit report: with go get -tool gotest.tools/gotestsum, boxer init again writes a file that does.")
	}
	plan.Script = deal("go list ./...", run)
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
	run += " --junitxml=" + report
	if p.mentions("pytest-split", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "requirements/dev.txt", "requirements/test.txt", "Pipfile") != "" {
		plan.Line = run + " --splits <n> --group <i>"
		plan.JUnit = []string{report}
		return plan, true
	}
	folder := p.first("tests", "test")
	if folder == "" || p.find(folder, "test_*.py", "*_test.py") == "" {
		folder = "."
	}
	plan.Script = deal(list(folder, "test_*.py", "*_test.py"), run)
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
	run := "bundle exec rspec"
	if p.mentions("rspec_junit_formatter", "Gemfile", "Gemfile.lock") != "" {
		run += " --format progress --format RspecJunitFormatter --out " + report
	} else {
		plan.Notes = append(plan.Notes, "rspec writes reports with rspec_junit_formatter: bundle add rspec_junit_formatter --group test, and boxer init again.")
	}
	plan.Script = deal(list("spec", "*_spec.rb"), run)
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
		Setup: []string{run + " -o -B -q test-compile"},
	}
	script := deal(classes, run+" -o -B test -Dsurefire.failIfNoSpecifiedTests=false")
	plan.Script = strings.Replace(script, " $mine", ` -Dtest="$(printf '%s' "$mine" | tr '\n' ,)"`, 1)
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
		Setup: []string{run + " --offline --no-daemon testClasses"},
	}
	script := deal(classes, run+" --offline --no-daemon test")
	plan.Script = strings.Replace(script, " $mine", ` $(printf -- '--tests %s ' $mine)`, 1)
	if p.mentions("include", "settings.gradle", "settings.gradle.kts") != "" {
		plan.Notes = append(plan.Notes, "Of several projects, test fails in one that has none of a shard's classes: set filter.isFailOnNoMatchingTests = false there.")
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
