package ci_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blocks are the YAML blocks of a section of the README.
func blocks(t *testing.T, section string) []string {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("the README has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var found []string
	for {
		_, rest, ok := strings.Cut(text, "\n```yaml\n")
		if !ok {
			return found
		}
		block, after, _ := strings.Cut(rest, "\n```\n")
		found, text = append(found, block+"\n"), after
	}
}

// gitHubBlock is one of the two blocks to copy.
func gitHubBlock(t *testing.T, number int) string {
	t.Helper()
	all := blocks(t, "In GitHub Actions")
	if len(all) != 2 {
		t.Fatalf("the README has %d blocks about GitHub", len(all))
	}
	return all[number]
}

// TestReadmeBlocksLint: what is there to copy has no fault that actionlint knows.
func TestReadmeBlocksLint(t *testing.T) {
	t.Parallel()
	for _, block := range blocks(t, "In GitHub Actions") {
		path := filepath.Join(t.TempDir(), "workflow.yml")
		writeFile(t, path, block)
		if said := lint(t, tool(t, "bin/actionlint"), "-no-color", "-shellcheck", debian(t, "shellcheck"), path); said != "" {
			t.Error(said)
		}
	}
}

// TestReadmeJob runs the README's first block, with real forks, on a project that needs Redis.
func TestReadmeJob(t *testing.T) { // not beside others: it keeps the processors busy by itself
	m := newMachine(t, "node-redis")
	p := m.push(gitHubBlock(t, 0))
	p.ended("tests", "success", "stub uploaded: boxer-report from boxer-report")
	for name, want := range map[string]string{
		"report": "boxer-report", "html": "boxer-report/index.html", "json": "boxer-report/result.json",
		"tests": "18", "failures": "0", "flaky": "0", "exit-code": "0",
	} {
		if got := p.output("tests", "boxer", name); got != want {
			t.Errorf("the output %s is %q, want %q", name, got, want)
		}
	}
	if s := p.summary("tests"); !strings.Contains(s, "boxer: 18 tests passed") || !strings.Contains(s, "| 4/4 | passed |") {
		t.Errorf("the summary is\n%s", s)
	}
	m.uploaded("boxer-report", "index.html", "junit.xml", "result.json", "shard-4.log")
	m.nothingLeft()
}

// TestReadmeMatrix runs the second block: two nodes, and a job that joins them, which is red if one of them is.
func TestReadmeMatrix(t *testing.T) { // not beside others: it keeps the processors busy by itself
	m := newMachine(t, "node-redis")
	p := m.push(gitHubBlock(t, 1))
	p.ended("node", "success", "stub uploaded: boxer-node-2 from boxer-report/node-2")
	p.prints("node", "stub uploaded: boxer-node-1 from boxer-report/node-1")
	p.ended("tests", "success", "stub downloaded: boxer-node-2")
	if tests, code := p.output("tests", "boxer", "tests"), p.output("tests", "boxer", "exit-code"); tests != "18" || code != "0" {
		t.Errorf("%s tests, exit code %s", tests, code)
	}
	m.uploaded("boxer-report", "index.html", "junit.xml", "node-1/shard-1.log", "node-2/shard-4.log")

	if err := os.RemoveAll(filepath.Join(m.base, "stubs/artifacts")); err != nil {
		t.Fatal(err)
	}
	m.write("test/planted.test.js", planted)
	p = m.push(gitHubBlock(t, 1))
	p.prints("node", "stub uploaded: boxer-node-1 from boxer-report/node-1")
	p.prints("node", "stub uploaded: boxer-node-2 from boxer-report/node-2")
	p.ended("tests", "failure", "stub downloaded: boxer-node-2")
	if tests, failures := p.output("tests", "boxer", "tests"), p.output("tests", "boxer", "failures"); tests != "19" || failures != "1" {
		t.Errorf("%s tests, %s failures", tests, failures)
	}
	if s := p.summary("tests"); !strings.Contains(s, "boxer: 1 of 19 tests failed") || !strings.Contains(s, "planted") {
		t.Errorf("the summary is\n%s", s)
	}
	m.nothingLeft()
}

const planted = `import test from 'node:test';
test('planted', () => { throw new Error('as planned'); });
`

// TestActionForReal: a failure, odd inputs, a list of tests whose times are kept, and an install without a run.
func TestActionForReal(t *testing.T) { // not beside others: it keeps the processors busy by itself
	m := newMachine(t, "node-redis")
	m.install()
	m.write("test/planted.test.js", planted)
	m.write("odd/boxer.yaml", "backend: gvisor\n")
	m.write("odd/text", odd)
	p := m.push(`
on: push
jobs:
  fails:
    runs-on: ubuntu-24.04
    steps:
      - uses: ` + checkout + `
      - id: boxer
        uses: boxer-ci/boxer@main
        with: {count: 2}
      - if: always()
        run: |
          echo "marker: ${{ steps.boxer.outcome }}, ${{ steps.boxer.outputs.failures }} of ${{ steps.boxer.outputs.tests }}"
  odd:
    runs-on: ubuntu-24.04
    steps:
      - uses: ` + checkout + `
      - id: odd
        run: |
          { echo 'text<<END'; cat odd/text; echo; echo END; } >>"$GITHUB_OUTPUT"
      - uses: boxer-ci/boxer@main
        with:
          working-directory: odd
          count: 1
          setup: |
            echo 'set "up"' >/var/tmp/from-setup
            date +%N >>/var/tmp/from-setup
          args: |
            --env=ODD=${{ steps.odd.outputs.text }}
          command: |
            head -n 1 /var/tmp/from-setup
            x="it's \"both\" <i>"; echo "$x; a | b"
            printf '%s' "$ODD" >odd.txt
            env | grep -E '^(INPUT_|BOXER_(COMMAND|SETUP|COUNT))' || echo 'no input is a variable'
            false | true || echo 'a pipe fails'
          artifacts: odd.txt
      - run: |
          sed 's/<i> {i}/1 1/' odd/text | cmp - odd/boxer-report/shard-1/odd.txt
          echo "marker: as it was"
  listed:
    runs-on: ubuntu-24.04
    steps:
      - uses: ` + checkout + `
      - id: boxer
        uses: boxer-ci/boxer@main
        with:
          count: 2
          tests: |
            test/c*.test.js
            test/l*.test.js
          command: node --test --test-concurrency=1 --test-reporter=junit --test-reporter-destination=reports/listed.xml
          junit: reports/listed.xml
      - run: |
          echo "marker: ${{ steps.boxer.outputs.tests }} tests"
          cat "$STUBS"/cache/*/timings.json
  install:
    runs-on: ubuntu-24.04
    steps:
      - uses: boxer-ci/boxer@main
        with: {install-only: true}
      - run: |
          boxer version
          echo "marker: installed"
`)
	p.ended("fails", "failure", "marker: failure, 1 of 19")
	if s := p.summary("fails"); !strings.Contains(s, "boxer: 1 of 19 tests failed") || !strings.Contains(s, "as planned") {
		t.Errorf("the summary is\n%s", s)
	}
	if code := p.output("fails", "boxer", "exit-code"); code != "1" {
		t.Errorf("the exit code is %q", code)
	}
	p.ended("odd", "success", "marker: as it was")
	for _, line := range []string{`set "up"`, `it's "both" 1; a | b`, "no input is a variable", "a pipe fails"} {
		p.mentions("odd", "[1/1] "+line, true)
	}
	p.ended("listed", "success", "marker: 12 tests")
	p.mentions("listed", "stub saved: boxer-timings-v1-Linux-", true)
	for _, unit := range []string{"cart", "leaderboard", "limiter", "lock"} {
		p.mentions("listed", `"test/`+unit+`.test.js":{"runs":[`, true)
	}
	p.ended("install", "success", "marker: installed")
	p.mentions("install", "shards", false)
	m.nothingLeft()
}

// TestReleaseAsOrdinaryUser: on GitHub's machines nobody is root. The action takes a released archive there, and forks.
func TestReleaseAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	m := newMachine(t, "")
	built := filepath.Join(m.base, "boxer")
	must(t, "..", "env", "CGO_ENABLED=0", "go", "build", "-o", built, "./cmd/boxer")
	b, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	r := publish(t, string(b))
	m.pin("9.9.9", r.sum)
	act, err := os.ReadFile(m.act)
	if err != nil {
		t.Fatal(err)
	}
	m.act = filepath.Join(m.base, "act") // the folder of the tools may be closed to others
	writeFile(t, m.act, string(act))
	m.user = &syscall.Credential{Uid: 12345, Gid: 12345}
	m.env = append(m.env, "BOXER_RELEASES="+r.url, "HOME="+m.base)
	must(t, ".", "chmod", "755", m.base)
	p := m.push(`
on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: boxer-ci/boxer@main
        with:
          backend: gvisor
          count: 2
          command: echo "shard <i> of <n> as $(id -u)"
      - run: |
          echo "marker: as $(id -u)"
`)
	p.ended("test", "success", "marker: as 12345")
	p.mentions("test", "[1/2] shard 1 of 2 as 0", true)
	p.mentions("test", "[2/2] shard 2 of 2 as 0", true)
	if n := r.asked.Load(); n != 1 {
		t.Errorf("%d archives were asked for", n)
	}
	m.nothingLeft()
}

// TestCancelled: act, unlike GitHub, kills at once what a step runs, and runs no further step of the action. Nothing is
// left of the forks all the same, and no times go to the cache.
func TestCancelled(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	m.cancel = "[1/2] at work"
	p := m.push(`
on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: boxer-ci/boxer@main
        with:
          backend: gvisor
          count: 2
          command: echo 'at work'; sleep 1000
      - if: cancelled()
        run: |
          echo "marker: cancelled"
`)
	p.ended("test", "failure", "marker: cancelled")
	p.mentions("test", "stub saved", false)
	m.nothingLeft()
}

// uploaded checks that files are in an artifact.
func (m *machine) uploaded(artifact string, files ...string) {
	m.t.Helper()
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(m.base, "stubs/artifacts", artifact, f)); err != nil {
			m.t.Error(err)
		}
	}
}

// nothingLeft looks for what boxer keeps of sandboxes, for mounts and for processes. What was killed may be going still.
func (m *machine) nothingLeft() {
	m.t.Helper()
	var left []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = m.left(); len(left) == 0 {
			return
		}
	}
	m.t.Errorf("left: %q", left)
}

func (m *machine) left() []string {
	var left []string
	for _, pattern := range []string{"state/boxer/scopes/*", "run/boxer/*"} {
		found, _ := filepath.Glob(filepath.Join(m.base, pattern))
		left = append(left, found...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, m.base) {
			left = append(left, line)
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if b, _ := os.ReadFile(p); bytes.Contains(b, []byte(m.base)) {
			left = append(left, string(b))
		}
	}
	return left
}
