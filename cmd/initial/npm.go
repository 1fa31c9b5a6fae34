package initial

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// manifest is what is read of a package.json.
type manifest struct {
	Scripts         map[string]string
	Dependencies    map[string]string
	DevDependencies map[string]string
	PackageManager  string
	Mocha           json.RawMessage
}

// depends tells where a package is asked for, "" if it is not.
func (p *project) depends(name string) string {
	if p.npm == nil {
		return ""
	}
	if _, ok := p.npm.DevDependencies[name]; ok {
		return name + " in package.json"
	}
	if _, ok := p.npm.Dependencies[name]; ok {
		return name + " in package.json"
	}
	return ""
}

// testScript is what `npm test` runs.
func (p *project) testScript() string {
	if p.npm == nil {
		return ""
	}
	return strings.TrimSpace(p.npm.Scripts["test"])
}

var runsNode = regexp.MustCompile(`(?:^|[\s;&|(])node\s(?:[^;&|]*\s)?--test()(?:\s|$)`)

// scripted is the kind whose runner the test script starts, "" if it starts none.
func (p *project) scripted() string {
	script := p.testScript()
	for _, k := range []string{"vitest", "jest", "mocha", "playwright"} {
		if regexp.MustCompile(`(^|[\s;&|(/])` + k + `(\s|$)`).MatchString(script) {
			return k
		}
	}
	if runsNode.MatchString(script) {
		return "node"
	}
	return ""
}

// manager is one of the programs that install packages.
type manager struct {
	name    string
	locks   []string // its lock files
	install string
	exec    string // starts a package's program from wherever it lies
	test    string // runs the test script; flags follow
}

var managers = []manager{
	{"pnpm", []string{"pnpm-lock.yaml"}, "pnpm install --frozen-lockfile", "pnpm exec", "pnpm test"},
	{"yarn", []string{"yarn.lock"}, "yarn install --immutable", "yarn", "yarn test"},
	{"bun", []string{"bun.lock", "bun.lockb"}, "bun install --frozen-lockfile", "bunx --no-install", "bun run test"},
	{"npm", []string{"package-lock.json", "npm-shrinkwrap.json"}, "npm ci", "npx --no", "npm test --"},
}

// manager is found by its lock file; a member of a workspace has none and names it, or not.
func (p *project) manager() (m manager, locked bool) {
	for _, m := range managers {
		if p.has(m.locks...) {
			return m, true
		}
	}
	for _, m := range managers {
		if strings.HasPrefix(p.npm.PackageManager, m.name+"@") {
			return m, false
		}
	}
	return managers[len(managers)-1], false
}

// program is how a package's program is started: by its path where that is known, because starting npm in a sandbox
// takes about as long as a file of tests does.
func (p *project) program(name string) string {
	m, locked := p.manager()
	if locked && !p.has(".pnp.cjs", ".pnp.loader.mjs") {
		return "node_modules/.bin/" + name
	}
	return m.exec + " " + name
}

// runs is the line that runs the tool with the flags of the test script and those of boxer's. Where the script does
// more than start the tool it is run as it is. drop are words that make no sense in CI.
func (p *project) runs(tool string, drop []string, flags string) string {
	script := p.testScript()
	if p.scripted() != tool {
		return p.program(tool) + " " + flags
	}
	fields := strings.Fields(script)
	if fields[0] == "npx" && len(fields) > 1 {
		fields = fields[1:]
	}
	if fields[0] != tool || !plain(script) {
		m, _ := p.manager()
		return m.test + " " + flags
	}
	own := slices.DeleteFunc(fields[1:], func(w string) bool { return slices.Contains(drop, w) })
	return strings.Join(append([]string{p.program(tool)}, append(own, flags)...), " ")
}

var assigns = regexp.MustCompile(`^\w+=`)

// plain tells whether a line means the same without a shell.
func plain(line string) bool {
	return !strings.ContainsAny(line, "$`|&;<>(){}[]*?!~#\"'\\%") && !assigns.MatchString(line) && printable(line)
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (p *project) javascript(plan Plan) Plan {
	m, _ := p.manager()
	plan.Before = m.install
	plan.Smolvm = "node:22"
	return plan
}

const (
	report        = "reports/shard-<i>.xml" // of a runner that splits by itself
	reportOfBatch = "junit.xml"             // of one that boxer gives a part of a list at a time, and reads after each
)

func vitest(p *project) (Plan, bool) {
	by := p.depends("vitest")
	if by == "" {
		return Plan{}, false
	}
	flags := "--shard=<i>/<n> --reporter=default --reporter=junit --outputFile.junit=" + report
	line := p.runs("vitest", []string{"run", "--run", "watch", "dev", "--watch", "-w"}, flags)
	if program := p.program("vitest"); strings.HasPrefix(line, program+" ") {
		line = program + " run" + strings.TrimPrefix(line, program)
	}
	return p.javascript(Plan{By: by, Line: line, JUnit: []string{report}, Notes: []string{workers("--maxWorkers=1")}}), true
}

func workers(flag string) string {
	return "Each shard starts workers of its own: add " + flag + " if there are as many shards as processors."
}

func jest(p *project) (Plan, bool) {
	by := p.depends("jest")
	if by == "" {
		return Plan{}, false
	}
	plan := Plan{By: by, Notes: []string{"--shard needs jest 28 or newer.", workers("--maxWorkers=1")}}
	flags := "--ci --shard=<i>/<n>"
	if p.depends("jest-junit") != "" {
		flags += " --reporters=default --reporters=jest-junit"
		plan.Env = []string{"JEST_JUNIT_OUTPUT_FILE=" + report, "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true"}
		plan.JUnit = []string{report}
	} else {
		plan.Notes = append(plan.Notes, "jest writes reports with jest-junit: npm install --save-dev jest-junit, and boxer init again.")
	}
	plan.Line = p.runs("jest", []string{"--ci", "--watch", "--watchAll"}, flags)
	return p.javascript(plan), true
}

func playwright(p *project) (Plan, bool) {
	by := p.depends("@playwright/test")
	if by == "" {
		return Plan{}, false
	}
	flags := "--shard=<i>/<n> --reporter=list,junit"
	line := p.program("playwright") + " test " + flags
	if p.scripted() == "playwright" {
		line = p.runs("playwright", nil, flags)
	}
	return p.javascript(Plan{
		By: by, Line: line, JUnit: []string{report}, Artifacts: []string{"test-results/**"},
		Env: []string{"PLAYWRIGHT_JUNIT_OUTPUT_NAME=" + report},
		Notes: []string{
			workers("--workers=1"),
			"A webServer of the configuration starts once per shard; as a service (below) it starts once in all.",
		},
	}), true
}

func nodeTest(p *project) (Plan, bool) {
	plan := Plan{By: "node --test in package.json", JUnit: []string{report}, Notes: []string{
		"--test-shard needs Node 20.5 or newer.",
		"--test-concurrency=1 lets the files of one shard take turns, where they share a database.",
	}}
	script := "node --test"
	if p.scripted() == "node" && printable(p.testScript()) {
		script = p.testScript()
	} else if p.npm == nil || p.nodeFile() == "" {
		return Plan{}, false
	} else {
		plan.By = "node:test in " + p.nodeFile()
	}
	at := runsNode.FindStringSubmatchIndex(script)[2] // right behind --test
	plan.Script = fmt.Sprintf("mkdir -p reports\n%s --test-shard=<i>/<n> \\\n  --test-reporter=spec --test-reporter-destination=stdout \\\n"+
		"  --test-reporter=junit --test-reporter-destination=%s%s", script[:at], report, script[at:])
	return p.javascript(plan), true
}

// nodeFile is a test file that uses Node's own runner.
func (p *project) nodeFile() string {
	for _, folder := range []string{"test", "tests", "src", "."} {
		if f := p.find(folder, "*.test.js", "*.test.mjs", "*.test.cjs", "*.test.ts"); f != "" && strings.Contains(p.text(f), "node:test") {
			return f
		}
	}
	return ""
}

var mochaSpec = regexp.MustCompile(`["']?spec["']?\s*:`)

func mocha(p *project) (Plan, bool) {
	by := p.depends("mocha")
	if by == "" {
		return Plan{}, false
	}
	plan := Plan{
		By: by, Line: p.program("mocha") + " --reporter xunit --reporter-option output=" + reportOfBatch + " <tests>",
		JUnit: []string{reportOfBatch},
		Notes: []string{
			"Options of the test script in package.json belong into the command here, files do not.",
			`A file without a test is a unit without a result: "!test/helper.js" takes it away.`,
		},
	}
	configs := []string{".mocharc.json", ".mocharc.jsonc", ".mocharc.js", ".mocharc.cjs", ".mocharc.yml", ".mocharc.yaml"}
	for _, f := range configs {
		if mochaSpec.MatchString(p.text(f)) {
			plan.Notes = append(plan.Notes, f+" has a spec, which mocha adds to the files of every batch: take it out of there.")
		}
	}
	if mochaSpec.Match(p.npm.Mocha) {
		plan.Notes = append(plan.Notes, "mocha in package.json has a spec, which it adds to the files of every batch: take it out of there.")
	}
	folder, files := "test", "*.{js,cjs,mjs}"
	if f := p.first("test", "tests", "spec"); f != "" {
		folder = f
	}
	switch {
	case p.find(folder, "*.test.?s", "*.spec.?s", "*.test.?js", "*.spec.?js") != "":
		files = "**/*.{test,spec}.*s"
	case strings.Contains(p.testScript(), "--recursive"), p.mentions("recursive", configs...) != "", !p.holds(folder, "*.?js", "*.js"):
		files = "**/" + files
	}
	plan.Tests = []string{folder + "/" + files}
	return p.javascript(plan), true
}
