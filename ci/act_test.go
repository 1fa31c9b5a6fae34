// Package ci_test runs what boxer brings for CI systems, and the blocks of the README about them, with programs that
// read workflows as those systems do. There is no package here to test: boxer is built by what is under test.
//
// The programs are installed by ci/tools.sh. One that is missing fails the tests: a workflow that nobody ran is worth
// nothing.
package ci_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// tool is a program that ci/tools.sh installs, by its path in the folder that it prints.
func tool(t *testing.T, name string) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	path := filepath.Join(cache, "boxer-ci-tools", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no %s: run ci/tools.sh", path)
	}
	return path
}

// The commits that README and action.yml name of GitHub's own actions. Another one is not mapped, and so fails.
const (
	checkout = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
	cache    = "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae"
	upload   = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"
	download = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"
)

// machine is where act runs workflows: a project, the action, and what the stand-ins of GitHub's actions keep.
type machine struct {
	t       *testing.T
	base    string
	project string   // a git repository
	action  string   // a copy of this repository
	env     []string // besides that of the test
	act     string   // the program
	user    *syscall.Credential
	cancel  string // when act prints this, the workflow is cancelled
}

// newMachine has a copy of an example as its project, with its packages installed; "" is an empty project.
func newMachine(t *testing.T, example string) *machine {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "bxc") // unlike /tmp it shows in a sandbox as it is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("what cannot be removed is left: %v", err)
		}
	})
	m := &machine{
		t: t, base: base, project: filepath.Join(base, "project"), action: filepath.Join(base, "action"), act: tool(t, "bin/act"),
	}
	for _, dir := range []string{m.project, m.action, filepath.Join(base, "stubs"), filepath.Join(base, "run")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if example != "" {
		if err := os.CopyFS(m.project, os.DirFS(filepath.Join("../examples", example))); err != nil {
			t.Fatal(err)
		}
	}
	m.env = []string{
		"XDG_CACHE_HOME=" + filepath.Join(base, "cache"), "XDG_CONFIG_HOME=" + base, "XDG_STATE_HOME=" + filepath.Join(base, "state"),
		"XDG_RUNTIME_DIR=" + filepath.Join(base, "run"), "STUBS=" + filepath.Join(base, "stubs"), "GOCACHE=" + goEnv(t, "GOCACHE"),
	}
	must(t, "..", "sh", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$1"`, "sh", m.action)
	return m
}

func goEnv(t *testing.T, name string) string {
	return strings.TrimSpace(must(t, ".", "go", "env", name))
}

// must runs a program that must succeed and returns what it printed.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// write makes a file of the project.
func (m *machine) write(name, text string) {
	m.t.Helper()
	writeFile(m.t, filepath.Join(m.project, name), text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// install brings the project's packages and keeps them in the copy that act makes, which leaves out what git ignores.
func (m *machine) install() {
	m.t.Helper()
	must(m.t, m.project, "npm", "ci", "--no-audit", "--no-fund")
	m.write(".gitignore", "/boxer-report/\n")
}

// push runs a workflow as if the project with it had been pushed. The action is boxer-ci/boxer@main; flags are act's.
func (m *machine) push(workflow string, flags ...string) pushed {
	m.t.Helper()
	m.write(".github/workflows/test.yml", workflow)
	must(m.t, m.project, "sh", "-c",
		`git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`)
	args := []string{
		"push", "--json", "-W", ".github/workflows/test.yml", "-P", "ubuntu-24.04=-self-hosted", "--no-cache-server",
		"--local-repository", "boxer-ci/boxer@main=" + m.action,
	}
	stubs := filepath.Join(m.action, "ci/testdata/stubs")
	for _, action := range []string{cache, upload, download} {
		name := strings.TrimPrefix(strings.Split(action, "@")[0], "actions/")
		args = append(args, "--local-repository", action+"="+filepath.Join(stubs, name))
	}
	c := exec.Command(m.act, append(args, flags...)...)
	c.Dir, c.Env = m.project, append(os.Environ(), m.env...)
	if m.user != nil {
		must(m.t, ".", "chown", "-R", strconv.Itoa(int(m.user.Uid)), m.base)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: m.user}
	}
	canceller := &canceller{at: m.cancel, of: c}
	c.Stdout, c.Stderr = canceller, canceller
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		m.t.Fatal(err)
	}
	out := canceller.out.Bytes()
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("act printed\n%s", readable(out))
		}
	})
	return pushed{t: m.t, events: events(out)}
}

// canceller keeps what a program prints, and interrupts it once when a text is in it.
type canceller struct {
	at  string
	of  *exec.Cmd
	out bytes.Buffer
}

func (c *canceller) Write(p []byte) (int, error) {
	c.out.Write(p)
	if c.at != "" && bytes.Contains(c.out.Bytes(), []byte(c.at)) {
		c.at = ""
		return len(p), c.of.Process.Signal(os.Interrupt)
	}
	return len(p), nil
}

// event is one line of act's.
type event struct {
	Job     string // "test.yml/test-1"
	JobID   string
	Result  string `json:"jobResult"`
	StepID  []string
	Raw     bool `json:"raw_output"` // Msg is a line that a program printed
	Msg     string
	Command string // "set-output", "summary"
	Name    string
	Arg     string
	Content string
}

func events(out []byte) []event {
	var all []event
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			e = event{Msg: lines.Text()} // act's own last words
		}
		all = append(all, e)
	}
	return all
}

func readable(out []byte) string {
	var b strings.Builder
	for _, e := range events(out) {
		line, _, _ := strings.Cut(e.Msg, "\n") // what act says of a step ends with its whole script
		b.WriteString(e.Job + " | " + line + "\n")
	}
	return b.String()
}
