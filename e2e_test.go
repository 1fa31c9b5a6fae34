package boxer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ordinary is the user id that tests become where they run as root; it needs no entry in the user database.
const ordinary = 12345

// program is boxer as a user would build it.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/var/tmp", "boxer-e2e-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // the ordinary user starts it too
	}
	if err == nil {
		program = filepath.Join(dir, "boxer")
		build := exec.Command("go", "build", "-o", program, "./cmd/boxer")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build boxer:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// person is somebody who uses boxer on a project: a folder of his own, and a uid.
type person struct {
	t       testing.TB
	uid     int
	base    string // everything below belongs to him
	project string // a git repository of his
	env     []string
}

// asEach runs a test as root and as an ordinary user, or only as who the tests run as.
func asEach(t *testing.T, do func(t *testing.T, uid int)) {
	t.Parallel()
	if os.Getuid() != 0 {
		do(t, os.Getuid())
		return
	}
	t.Run("root", func(t *testing.T) { t.Parallel(); do(t, 0) })
	t.Run("ordinary user", func(t *testing.T) { t.Parallel(); do(t, ordinary) })
}

// newPerson gives him a copy of the example as a committed project; "" is an empty one.
func newPerson(t testing.TB, uid int, example string) *person {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "bxe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("what cannot be removed is left: %v", err)
		}
	})
	p := &person{t: t, uid: uid, base: base, project: filepath.Join(base, "project")}
	for _, dir := range []string{"project", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if example != "" {
		if err := os.CopyFS(p.project, os.DirFS(filepath.Join("examples", example))); err != nil {
			t.Fatal(err)
		}
	}
	chown(t, base, uid)
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "TMPDIR=" + filepath.Join(base, "tmp"),
		"XDG_STATE_HOME=" + filepath.Join(base, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(base, "tmp"),
	}
	t.Cleanup(func() { // what a test that failed left up
		if len(p.left()) > 0 {
			p.run(p.boxer("down"))
		}
	})
	p.must("git", "init", "-q")
	p.commit()
	return p
}

func (p *person) commit() {
	p.t.Helper()
	p.must("git", "add", "-A")
	p.must("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
}

func chown(t testing.TB, dir string, uid int) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// command is a program that the person starts in his project.
func (p *person) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = p.project, p.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	return c
}

func (p *person) boxer(args ...string) *exec.Cmd {
	return p.command(append([]string{program}, args...)...)
}

// run gives exit code and output of a call.
func (p *person) run(c *exec.Cmd) (code int, stdout, stderr string) {
	p.t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		p.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs a command that must exit 0 and returns what it printed.
func (p *person) must(args ...string) string {
	p.t.Helper()
	if args[0] == "boxer" {
		args[0] = program
	}
	code, out, errs := p.run(p.command(args...))
	if code != 0 {
		p.t.Fatalf("%v: exit code %d\n%s%s", args, code, out, errs)
	}
	return strings.TrimSpace(out)
}

// result is what the tests read of result.json.
type result struct {
	ExitCode int `json:"exit_code"`
	Totals   struct{ Tests, Passed, Failures, Errors, Skipped int }
	Ledger   struct {
		Closed bool
		Line   string
	}
	Shards []struct {
		Number int
		State  string
	}
}

// shard runs boxer shard, which must exit with code, and reads its result.
func (p *person) shard(code int, args ...string) result {
	p.t.Helper()
	got, out, errs := p.run(p.boxer(append([]string{"shard"}, args...)...))
	if got != code {
		p.t.Fatalf("shard %v: exit code %d, want %d\n%s%s", args, got, code, out, errs)
	}
	b, err := os.ReadFile(filepath.Join(p.project, "boxer-report/result.json"))
	var r result
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// clean looks whether git sees no change in the project.
func (p *person) clean() {
	p.t.Helper()
	if s := p.must("git", "status", "--porcelain", "--untracked-files=all"); s != "" {
		p.t.Errorf("the worktree is not clean:\n%s", s)
	}
}

// nothingLeft looks for processes, mounts and files that belong to the person and that he did not ask for.
func (p *person) nothingLeft() {
	p.t.Helper()
	for _, l := range p.left() {
		p.t.Error("left: " + l)
	}
}

func (p *person) left() []string {
	var all []string
	for _, pattern := range []string{"state/boxer/scopes/*", "tmp/boxer/*", "tmp/boxer-*/*"} {
		found, err := filepath.Glob(filepath.Join(p.base, pattern))
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, found...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, p.base) {
			all = append(all, "mount "+line)
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, dir := range processes {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // names his home
		if bytes.Contains(append(line, env...), []byte(p.base)) {
			all = append(all, "process "+filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}
