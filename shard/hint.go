package shard

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reporterFlags say for each test runner how it writes a JUnit report. Order matters: the first that is found in the
// command counts.
var reporterFlags = []struct{ word, second, say string }{
	{"vitest", "", "vitest writes one with --reporter=default --reporter=junit --outputFile.junit=reports/junit.xml"},
	{"playwright", "", "playwright writes one with --reporter=junit and PLAYWRIGHT_JUNIT_OUTPUT_NAME=reports/junit.xml"},
	{"jest", "", "jest writes one with --reporters=default --reporters=jest-junit (npm install --save-dev jest-junit)"},
	{"mocha", "", "mocha writes one with --reporter mocha-junit-reporter --reporter-options mochaFile=reports/junit.xml"},
	{"cypress", "", "cypress writes one with --reporter junit --reporter-options mochaFile=reports/junit-[hash].xml"},
	{"ava", "", "ava writes one with --tap | npx tap-xunit > reports/junit.xml"},
	{"pytest", "", "pytest writes one with --junit-xml=reports/junit.xml"},
	{"py.test", "", "pytest writes one with --junit-xml=reports/junit.xml"},
	{"gotestsum", "", "gotestsum writes one with --junitfile reports/junit.xml"},
	{"go", "test", "go test writes one through gotestsum: gotestsum --junitfile reports/junit.xml -- ./..."},
	{"nextest", "", "cargo nextest writes one with [profile.default.junit] path = \"junit.xml\" in .config/nextest.toml"},
	{"cargo", "test", "cargo test writes one through cargo nextest, with junit.path in .config/nextest.toml"},
	{"rspec", "", "rspec writes one with --format progress --format RspecJunitFormatter --out reports/junit.xml"},
	{"phpunit", "", "phpunit writes one with --log-junit reports/junit.xml"},
	{"ctest", "", "ctest writes one with --output-junit reports/junit.xml"},
	{"dotnet", "test", "dotnet test writes one with --logger 'junit;LogFilePath=reports/junit.xml' (package JunitXml.TestLogger)"},
	{"mvn", "", "Maven's Surefire writes them into target/surefire-reports, which lies elsewhere here: name it with --junit"},
	{"gradle", "", "Gradle writes them into build/test-results, which lies elsewhere here: name it with --junit"},
	{"deno", "test", "deno test writes one with --junit-path=reports/junit.xml"},
	{"bun", "test", "bun test writes one with --reporter=junit --reporter-outfile=reports/junit.xml"},
	{"node", "--test", "node writes one with --test-reporter=junit --test-reporter-destination=reports/junit.xml"},
}

const anyReporter = "most test runners have a flag that writes a JUnit report; put it into reports/, or name its place with --junit"

// reporterHint says how the command could write a report. What stands behind "npm test" is read from package.json.
func reporterHint(command []string, dir string) string {
	words := runnerWords(command, dir)
	for _, r := range reporterFlags {
		i := slices.Index(words, r.word)
		if i >= 0 && (r.second == "" || slices.Contains(words[i+1:], r.second)) {
			return r.say
		}
	}
	return anyReporter
}

// runnerWords are the words of a command and of the script that it stands for.
func runnerWords(command []string, dir string) []string {
	words := wordsOf(command)
	if script := npmScript(words); script != "" {
		words = append(words, wordsOf([]string{readScript(dir, script)})...)
	}
	return words
}

// wordsOf are the words of a command, also of one within a shell's line, each without its folder.
func wordsOf(command []string) []string {
	var words []string
	for _, arg := range command {
		for _, w := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"", r) }) {
			words = append(words, filepath.Base(w))
		}
	}
	return words
}

func npmScript(words []string) string {
	for i, w := range words {
		if w != "npm" && w != "yarn" && w != "pnpm" && w != "bun" {
			continue
		}
		rest := words[i+1:]
		if len(rest) > 1 && (rest[0] == "run" || rest[0] == "run-script") {
			return rest[1]
		}
		if len(rest) > 0 && (rest[0] == "test" || rest[0] == "t") {
			return "test"
		}
	}
	return ""
}

// readScript reads no more than a manifest can have, and only a regular file: the folder is not ours.
func readScript(dir, script string) string {
	path := filepath.Join(dir, "package.json")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var manifest struct{ Scripts map[string]string }
	if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&manifest) != nil {
		return ""
	}
	return manifest.Scripts[script]
}
