package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// project makes a git worktree with a boxer.yaml and returns what Load is asked from its root.
func project(t *testing.T, yaml string) Request {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if yaml != "" {
		write(t, filepath.Join(dir, FileName), yaml)
	}
	scope, err := runner.ScopeOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Dir: dir, Scope: scope, Env: []string{"HOME=/home/me"}, Flags: map[string][]string{}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const whole = `
backend: host
env: [CI, "NODE_ENV=test", "APP_*"]
hide: ["~/.secrets", local]
show: [/run/docker.sock]
services:
  - name: db
    init: initdb -D /var/tmp/pg
    run: postgres -D /var/tmp/pg
    ready: pg_isready
    user: postgres
    timeout: 45s
setup: ["npm run db:migrate", {run: "createdb app", user: postgres, timeout: 1m}]
smolvm: {image: "node:22", cpus: 4, memory: 2048, network: true, setup: ["npm ci"], exclude: [node_modules]}
shard:
  count: 4
  command: npm test -- --shard=<i>/<n> 'two words'
  junit: ["reports/**/*.xml"]
  artifacts: ["coverage/**"]
  worktree: shared
  tests: ["test/**/*.test.js", "!test/slow/**"]
  list: git ls-files test
  retries: 2
  timeout: 20m
  unit_timeout: 1m
  allow_empty: true
  reruns: never
  empty_exit_codes: [4, 5]
`

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	r := project(t, whole)
	got, err := Load(r)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		File: filepath.Join(r.Dir, FileName), Base: r.Dir, Backend: "host",
		Env:  []string{"CI", "NODE_ENV=test", "APP_*"},
		Hide: []string{"/home/me/.secrets", filepath.Join(r.Dir, "local")}, Show: []string{"/run/docker.sock"},
		Services: []runner.Service{{Name: "db", Init: "initdb -D /var/tmp/pg", Run: "postgres -D /var/tmp/pg",
			Ready: "pg_isready", User: "postgres", Timeout: 45 * time.Second}},
		Setup:  []runner.SetupStep{{Run: "npm run db:migrate"}, {Run: "createdb app", User: "postgres", Timeout: time.Minute}},
		Smolvm: runner.MachineConfig{Image: "node:22", CPUs: 4, Memory: 2048, Network: true, Setup: []string{"npm ci"}, Exclude: []string{"node_modules"}},
		Shard: Shard{Count: 4, Command: []string{"npm", "test", "--", "--shard=<i>/<n>", "two words"},
			JUnit: []string{"reports/**/*.xml"}, Artifacts: []string{"coverage/**"}, Worktree: runner.Live,
			Timeout: 20 * time.Minute, AllowEmpty: "true", Reruns: "never", EmptyCodes: []int{4, 5},
			Report: filepath.Join(r.Dir, "boxer-report"),
			Tests:  []string{"test/**/*.test.js", "!test/slow/**"}, List: "git ls-files test", Retries: 2, MaxRetried: 10,
			UnitTimeout: time.Minute},
		Color: "auto", CI: "auto",
	}
	got.Origins = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestFaultsAreToldWithPlaceAndNearestKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, yaml, want string }{
		{"unknown key", "servcies: []", `boxer.yaml:1: unknown key "servcies", did you mean services?`},
		{"unknown key in shard", "shard:\n  cuont: 3", `boxer.yaml:2: unknown key "cuont" in shard, did you mean count?`},
		{"unknown key in a service", "services:\n- name: a\n  run: b\n  redy: c", `boxer.yaml:4: unknown key "redy" in services, did you mean ready?`},
		{"key far from any", "zzzzzzzz: 1", `boxer.yaml:1: unknown key "zzzzzzzz"`},
		{"doubled key", "env: []\nenv: []", `boxer.yaml:2: key "env" is there twice, first in line 1`},
		{"list for a value", "shard:\n  count: [1]", "boxer.yaml:2: shard.count: holds a list where one value was expected"},
		{"group for a list", "env: {a: b}", "boxer.yaml:1: env: holds a group of keys where a list was expected"},
		{"text for a group", "shard: 4", "boxer.yaml:1: shard: holds the number 4 where keys were expected"},
		{"text for services", "services: redis", `boxer.yaml:1: services: holds the text "redis" where a list was expected`},
		{"text for a number", "smolvm: {cpus: many}", `boxer.yaml:1: smolvm.cpus: holds the text "many" where a whole number from 1 was expected`},
		{"text for a truth value", "smolvm: {network: sure}", `boxer.yaml:1: smolvm.network: holds the text "sure" where true or false was expected`},
		{"count of zero", "shard:\n  count: 0", `boxer.yaml:2: shard.count: "0" is no number of children: the smallest is 1, the largest sensible one 1024, or auto`},
		{"time without unit", "shard: {timeout: 20}", `boxer.yaml:1: shard.timeout: "20" has no unit: write 20s, 20m or 20h`},
		{"backend that is none", "backend: gvisr", `boxer.yaml:1: backend: "gvisr" is not one of auto, gvisor, host, smolvm, did you mean gvisor?`},
		{"command with a pipe", "shard: {command: a | b}", "boxer.yaml:1: shard.command: no shell reads this line, so it cannot hold ; & | < or > outside quotes: write sh -c '...'"},
		{"command with a variable", "shard: {command: a $X}", "boxer.yaml:1: shard.command: no shell reads this line, so $X is not replaced: write sh -c '...', or <i> and <n> for the shard"},
		{"command of spaces", "shard: {command: '  '}", "boxer.yaml:1: shard.command: the command is empty"},
		{"open quote", "shard: {command: \"a 'b\"}", "boxer.yaml:1: shard.command: cannot be split into words (an open quote, or a bracket outside quotes?); a list of words needs no quoting"},
		{"retries", "shard: {retries: 20}", `boxer.yaml:1: shard.retries: "20" is no number of retries: it must be from 0 to 10`},
		{"token", "env: [GITHUB_TOKEN]", "boxer.yaml:1: env: GITHUB_TOKEN never enters a sandbox: it is a token or a command file of the CI"},
		{"whole environment", `env: ["*"]`, `boxer.yaml:1: env: "*" would let everything in: name what the tests need, or PREFIX_*`},
		{"service without name", "services: [{run: a}]", "boxer.yaml:1: services: a service has no name"},
		{"service without run", "services: [{name: a}]", `boxer.yaml:1: services: "a" has no run line`},
		{"services of one name", "services:\n- {name: a, run: a}\n- {name: a, run: b}", `boxer.yaml:3: services: "a" is there twice, first in line 2`},
		{"service name with a slash", "services: [{name: a/b, run: a}]", `boxer.yaml:1: services: "a/b" cannot be a name: letters, digits, - and _ can`},
		{"empty setup step", "setup: [{user: a}]", "boxer.yaml:1: setup: a step has no command"},
		{"exit code", "shard: {empty_exit_codes: [300]}", `boxer.yaml:1: shard.empty_exit_codes: "300" is no exit code from 1 to 255`},
		{"two documents", "env: []\n---\nenv: []", "boxer.yaml: holds more than one document: keep the first, and drop what follows ---"},
		{"a list at the top", "- a", "boxer.yaml:1: holds a list where keys were expected"},
		{"no YAML", "env: [a\nb: c", "boxer.yaml:1: is no YAML: did not find expected ',' or ']'"},
		{"merge key", "x: &x {count: 3}\nshard: {<<: *x}", `boxer.yaml:1: unknown key "x"; boxer.yaml:2: unknown key "<<" in shard`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(project(t, c.yaml))
			var faults Faults
			if !errors.As(err, &faults) || faults.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	r := project(t, "bakend: host\nshard:\n  count: x\n  junit: [../a.xml]\n")
	r.Flags["timeout"] = []string{"5"}
	r.Env = append(r.Env, "BOXER_WORKTREE=mine")
	_, err := Load(r)
	for _, want := range []string{`"bakend"`, "shard.count", "shard.junit", "--timeout", "BOXER_WORKTREE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
}

// A few lines whose aliases stand for ten thousand million values must be refused at once, not expanded.
func TestAliasBombIsRefused(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	for _, yaml := range []string{bomb, "a: &a [*a]"} {
		if _, err := Load(project(t, yaml)); err == nil || !strings.Contains(err.Error(), "aliases expand to more than 10000 values") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAliasesAreReplaced(t *testing.T) {
	t.Parallel()
	c, err := Load(project(t, "setup: &s [make]\nsmolvm: {setup: *s}"))
	if err != nil || !reflect.DeepEqual(c.Smolvm.Setup, []string{"make"}) {
		t.Errorf("got %+v, %v", c.Smolvm, err)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, variable string
		flag                 []string
		want                 int
		source               string
	}{
		{"default", "", "", nil, 0, "default"},
		{"file", "shard: {count: 2}", "", nil, 2, "boxer.yaml:1"},
		{"variable over file", "shard: {count: 2}", "3", nil, 3, "BOXER_COUNT"},
		{"flag over variable", "shard: {count: 2}", "3", []string{"4"}, 4, "--count"},
		{"empty variable is none", "shard: {count: 2}", "", nil, 2, "boxer.yaml:1"},
		{"last flag counts", "", "", []string{"4", "5"}, 5, "--count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := project(t, c.file)
			r.Env = append(r.Env, "BOXER_COUNT="+c.variable)
			if c.flag != nil {
				r.Flags["count"] = c.flag
			}
			got, err := Load(r)
			if err != nil || got.Shard.Count != c.want || originOf(got, "shard.count").Source != c.source {
				t.Errorf("got %d from %+v, %v", got.Shard.Count, originOf(got, "shard.count"), err)
			}
		})
	}
}

func originOf(c Config, key string) Origin {
	for _, o := range c.Origins {
		if o.Key == key {
			return o
		}
	}
	return Origin{}
}

func TestEnvFlagsAddToTheFile(t *testing.T) {
	t.Parallel()
	r := project(t, "env: [A]")
	r.Flags["env"] = []string{"B_SECRET=hush-hush"}
	got, err := Load(r)
	if err != nil || !reflect.DeepEqual(got.Env, []string{"A", "B_SECRET=hush-hush"}) {
		t.Errorf("got %v, %v", got.Env, err)
	}
	if o := originOf(got, "env"); o.Value != "A B_SECRET=***" || o.Source != "boxer.yaml:1, --env" {
		t.Errorf("origin %+v", o)
	}
}

// A fault in the file is told even when a flag is stronger: else it waits for the day the flag is left out.
func TestFaultBelowAFlagIsTold(t *testing.T) {
	t.Parallel()
	r := project(t, "shard: {count: x}")
	r.Flags["count"] = []string{"2"}
	if _, err := Load(r); err == nil || !strings.Contains(err.Error(), "boxer.yaml:1: shard.count") {
		t.Errorf("got %v", err)
	}
}

func TestFileIsFoundUpwardToTheRoot(t *testing.T) {
	t.Parallel()
	r := project(t, "shard: {count: 7, junit: [a.xml]}")
	root := r.Dir
	r.Dir = filepath.Join(root, "services", "api")
	write(t, filepath.Join(r.Dir, "x"), "")
	got, err := Load(r)
	if err != nil || got.Shard.Count != 7 || got.Base != root || got.Shard.Report != filepath.Join(root, "boxer-report") {
		t.Fatalf("got %+v, %v", got, err)
	}
	if o := originOf(got, "shard.count"); o.Source != "../../boxer.yaml:1" {
		t.Errorf("source %q", o.Source)
	}
	write(t, filepath.Join(r.Dir, FileName), "shard: {count: 3}")
	if got, err = Load(r); err != nil || got.Shard.Count != 3 || got.Base != r.Dir {
		t.Errorf("the nearest file counts: got %+v, %v", got, err)
	}
}

func TestFileAboveTheRootIsNotRead(t *testing.T) {
	t.Parallel()
	r := project(t, "shard: {count: 7}")
	inner := filepath.Join(r.Dir, "inner")
	if err := os.MkdirAll(filepath.Join(inner, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Dir = inner
	r.Scope, _ = runner.ScopeOf(inner)
	if got, err := Load(r); err != nil || got.Shard.Count != 0 || got.File != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNamedFile(t *testing.T) {
	t.Parallel()
	r := project(t, "")
	write(t, filepath.Join(r.Dir, "ci", "other.yaml"), "shard: {count: 5, junit: [a.xml]}")
	r.File = "ci/other.yaml"
	got, err := Load(r)
	if err != nil || got.Shard.Count != 5 || got.Base != filepath.Join(r.Dir, "ci") {
		t.Errorf("got %+v, %v", got, err)
	}
	r.File = "ci/none.yaml"
	if _, err := Load(r); err == nil || !strings.Contains(err.Error(), "--config: ") {
		t.Errorf("got %v", err)
	}
	r.File, r.Env = "", append(r.Env, FileVariable+"=ci/other.yaml")
	if got, err := Load(r); err != nil || got.Shard.Count != 5 {
		t.Errorf("by variable: got %+v, %v", got, err)
	}
}

func TestPatternsStayInTheWorktree(t *testing.T) {
	t.Parallel()
	r := project(t, "")
	for pattern, want := range map[string]string{
		"a/**/*.xml":                       "a/**/*.xml",
		"./a.xml":                          "a.xml",
		"a/../b.xml":                       "b.xml",
		filepath.Join(r.Dir, "a", "b.xml"): "a/b.xml",
		"reports/<i>.xml":                  "reports/<i>.xml",
		"../a.xml":                         "",
		"a/../../b.xml":                    "",
		"**/../../../etc/passwd":           "",
		"{a,..}/b.xml":                     "",
		"/etc/*":                           "",
		"[a":                               "",
		"{a":                               "",
		" ":                                "",
	} {
		r.Flags = map[string][]string{"artifacts": {pattern}}
		got, err := Load(r)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is accepted as %v", pattern, got.Shard.Artifacts)
		case want != "" && (err != nil || got.Shard.Artifacts[0] != want):
			t.Errorf("%q: got %v, %v", pattern, got.Shard.Artifacts, err)
		}
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	r := project(t, "")
	got, err := Load(r)
	if err != nil || got.Base != r.Dir || got.File != "" || got.Shard.Worktree != runner.Private || got.Backend != "auto" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEmptyFileAndEmptyKeys(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"# nothing\n", "setup:\nservices:\nshard:\n", "shard:\n  junit:\n"} {
		if _, err := Load(project(t, yaml)); err != nil {
			t.Errorf("%q: %v", yaml, err)
		}
	}
}

func TestCountLimits(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"0", "-1", "abc", "1000000", "1e3", "", "1025", " 1", "4.0"} {
		if _, err := Count(s); err == nil || !strings.Contains(err.Error(), "1024") {
			t.Errorf("%q: %v", s, err)
		}
	}
	for s, want := range map[string]int{"1": 1, "1024": 1024} {
		if got, err := Count(s); got != want || err != nil {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

func TestIgnoredVariables(t *testing.T) {
	t.Parallel()
	got := Ignored([]string{"BOXER_CUONT=4", "BOXER_COUNT=4", "BOXER_TMP=/x", "BOXER_SHARD_INDEX=1", "BOXER_ZZZZZZZZZZ=", "OTHER=1"})
	want := []string{"BOXER_CUONT, did you mean BOXER_COUNT?", "BOXER_ZZZZZZZZZZ"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
