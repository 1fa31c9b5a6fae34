package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

// The scripts run the real program: gVisor's sandboxes start it again inside themselves, so it has to be the static
// binary without cgo that people get, and not a part of this test. It is built once.
var program string

// standIn is the folder of the stand-in for smolvm, for machines that cannot run it. Scripts about smolvm have it
// first on PATH.
var standIn string

func TestMain(m *testing.M) {
	code := 1
	func() {
		dir, err := os.MkdirTemp("", "boxer-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "boxer")
		build := exec.Command("go", "build", "-o", program, "./boxer")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build boxer: %v\n%s", err, out)
			return
		}
		standIn = filepath.Join(dir, "stand-in")
		if err := smolvmtest.Build(standIn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		code = m.Run()
	}()
	os.Exit(code)
}

// A script's first line says where it runs: "# backends: none" for what starts nothing, else the kinds, one after the
// other with BOXER_BACKEND set.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"none", "host", "gvisor", "smolvm"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			files := scriptsFor(t, backend)
			if len(files) == 0 {
				return
			}
			if missing := lack(t, backend); missing != "" {
				t.Skip(missing)
			}
			testscript.Run(t, testscript.Params{
				Files:               files,
				Setup:               func(e *testscript.Env) error { return setUp(e, backend) },
				Condition:           func(c string) (bool, error) { return condition(c, backend) },
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": exits, "start": start, "signal": signal, "ended": ended, "appears": appears, "scope": scope, "dies": dies, "forge": forge,
				},
			})
		})
	}
}

func scriptsFor(t *testing.T, backend string) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		kinds, ok := strings.CutPrefix(line, "# backends: ")
		if !ok {
			t.Fatalf("%s: the first line must be # backends: none, or some of host, gvisor and smolvm", f)
		}
		for _, k := range strings.Fields(kinds) {
			if k == backend {
				out = append(out, f)
			}
		}
	}
	return out
}

// lack is why the backend does not work here, "" if it does: boxer's own words, with the fix.
func lack(t *testing.T, backend string) string {
	t.Helper()
	if backend == "none" {
		return ""
	}
	c := exec.Command(program, "doctor", "--json", "--backend", backend)
	c.Dir = t.TempDir()
	c.Env = []string{"HOME=" + c.Dir, "PATH=" + pathOf(backend), "BOXER_TMP=" + c.Dir}
	out, _ := c.Output() // its exit code says the same
	var d struct {
		Backends []struct {
			Kind        string
			Works       bool
			Reason, Fix string
		}
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("boxer doctor: %v\n%s", err, out)
	}
	for _, b := range d.Backends {
		if b.Kind == backend && b.Works {
			return ""
		} else if b.Kind == backend {
			return fmt.Sprintf("backend %s: %s; fix: %s", backend, b.Reason, b.Fix)
		}
	}
	return "this binary has no backend " + backend
}

func pathOf(backend string) string {
	if backend == "smolvm" {
		return standIn + ":" + os.Getenv("PATH")
	}
	return os.Getenv("PATH")
}

func condition(c, backend string) (bool, error) {
	switch c {
	case "host", "gvisor", "smolvm":
		return c == backend, nil
	}
	return false, fmt.Errorf("unknown condition %s", c)
}

// setUp gives a script its own home, state, sockets and temporary files. The project is a git worktree in p.
func setUp(e *testscript.Env, backend string) error {
	sockets, err := os.MkdirTemp("", "bx") // short: a socket's path is at most 104 bytes
	if err != nil {
		return err
	}
	e.Defer(func() { os.RemoveAll(sockets) })
	for _, dir := range []string{"home", "tmp", "p/.git"} {
		if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	e.Vars = append(e.Vars,
		"HOME="+e.WorkDir+"/home", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="+sockets, "BOXER_TMP="+e.WorkDir+"/tmp",
		"BOXER="+program, "PATH="+filepath.Dir(program)+":"+pathOf(backend), "CI=", "GITHUB_ACTIONS=", "GITLAB_CI=", "TERM=dumb",
	)
	if backend != "none" {
		e.Vars = append(e.Vars, "BOXER_BACKEND="+backend)
	}
	e.Cd = filepath.Join(e.WorkDir, "p")
	e.Values["run"] = &background{}
	env := append([]string(nil), e.Vars...)
	e.Defer(func() { leaveNothing(e, env) })
	return nil
}

// leaveNothing is the last line of every script: what it started is removed, and then nothing of it may be left.
func leaveNothing(e *testscript.Env, env []string) {
	t := e.T().(interface {
		Errorf(string, ...any)
	})
	if bg := e.Values["run"].(*background); bg.cmd != nil && bg.cmd.Process != nil {
		bg.cmd.Process.Kill()
		bg.cmd.Wait()
	}
	down := exec.Command(program, "down", "--all")
	down.Env, down.Dir = env, e.WorkDir
	if out, err := down.CombinedOutput(); err != nil {
		t.Errorf("boxer down --all: %v\n%s", err, out)
	}
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = leftOf(e.WorkDir); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
}

// leftOf finds processes that carry the script's home in their environment, mounts below its folder, and records,
// images or overlays of sandboxes.
func leftOf(dir string) []string {
	var left []string
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range processes {
		if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte("HOME="+dir+"/home\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
			left = append(left, "process "+filepath.Base(filepath.Dir(p))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	if b, err := os.ReadFile("/proc/self/mounts"); err == nil {
		for _, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, dir) {
				left = append(left, "mount "+l)
			}
		}
	}
	for _, pattern := range []string{"home/.local/state/boxer/scopes/*", "tmp/boxer-*/*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		left = append(left, files...)
	}
	return left
}

// background is the one command that a script may have running.
type background struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// exits CODE PROGRAM ARG... runs a program and compares its exit code, which "! exec" does not.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := err.(*exec.ExitError); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, not %s", code, args[0])
	}
}

// start PROGRAM ARG... starts a program and goes on.
func start(ts *testscript.TestScript, neg bool, args []string) {
	bg := ts.Value("run").(*background)
	if neg || len(args) == 0 || bg.cmd != nil {
		ts.Fatalf("usage: start PROGRAM ARG..., once until it has ended")
	}
	if args[0] == "boxer" {
		args = append([]string{program}, args[1:]...)
	}
	// A shell's background jobs, and what nohup starts, ignore signals that scripts send.
	*bg = background{cmd: exec.Command("env", append([]string{"--default-signal"}, args...)...)}
	bg.cmd.Dir, bg.cmd.Stdout, bg.cmd.Stderr = ts.MkAbs("."), &bg.out, &bg.err
	bg.cmd.Env = environ(ts)
	bg.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(bg.cmd.Start())
}

// environ is the script's environment.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "BOXER_TMP", "PATH", "CI", "GITHUB_ACTIONS", "GITLAB_CI", "TERM", "BOXER_BACKEND", "TMPDIR",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// signal NAME sends a signal to the started program alone, as CI systems do.
func signal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal INT|TERM|HUP|KILL|USR1")
	}
	ts.Check(ts.Value("run").(*background).cmd.Process.Signal(signals[args[0]]))
}

// ended CODE LIMIT waits for the started program. What it printed goes to the files out and err.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	bg := ts.Value("run").(*background)
	if neg || len(args) != 2 || bg.cmd == nil {
		ts.Fatalf("usage: ended CODE LIMIT, after start")
	}
	limit, err := time.ParseDuration(args[1])
	ts.Check(err)
	done := make(chan time.Duration, 1)
	began := time.Now()
	go func() {
		bg.cmd.Wait()
		done <- time.Since(began)
	}()
	took, slow := time.Duration(0), slowness()
	again, hangs := time.NewTicker(200*time.Millisecond), time.After(limit+2*time.Minute)
	defer again.Stop()
	for took == 0 {
		select {
		case took = <-done:
		case <-again.C:
			slow = max(slow, slowness())
		case <-hangs: // a slow machine is told from a hang, and both from success
			bg.cmd.Process.Kill()
			<-done
			ts.Fatalf("still running\n%s%s", bg.out.String(), bg.err.String())
		}
	}
	code := bg.cmd.ProcessState.ExitCode()
	ts.Logf("exit code %d after %s", code, took.Round(time.Millisecond))
	ts.Check(os.WriteFile(ts.MkAbs("out"), bg.out.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), bg.err.Bytes(), 0o600))
	bg.cmd = nil
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, not %s\n%s%s", code, args[0], bg.out.String(), bg.err.String())
	}
	if slow = max(slow, slowness()); took > time.Duration(float64(limit)*slow) {
		ts.Fatalf("took %s, more than %s (on a machine that is %.1f times slower than an idle one)", took, limit, slow)
	}
}

// slowness tells how much slower than an idle machine this one is at the moment: limits are promises for idle ones,
// and tests of other packages run at the same time. An idle one starts boxer in less than 0.1 s.
func slowness() float64 {
	began := time.Now()
	exec.Command(program, "version").Run()
	return max(1, time.Since(began).Seconds()/0.1)
}

// appears FILE waits until a file is there.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears FILE")
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	bg := ts.Value("run").(*background)
	if bg.cmd != nil {
		bg.cmd.Process.Kill()
		bg.cmd.Wait()
	}
	ts.Fatalf("%s did not appear\n%s%s", args[0], bg.out.String(), bg.err.String())
}

// scope puts the names of this folder's scope into SLUG and ID, and its worktree into WORKTREE.
func scope(ts *testscript.TestScript, neg bool, args []string) {
	s, err := runner.ScopeOf(ts.MkAbs("."))
	ts.Check(err)
	ts.Setenv("SLUG", s.Slug)
	ts.Setenv("ID", s.Key)
	ts.Setenv("WORKTREE", s.Worktree)
}
