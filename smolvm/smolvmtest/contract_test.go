//go:build linux

package smolvmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/smolvm/smolvmtest"
)

// program is the stand-in, built once: the test binary itself may have been built with cgo, which gVisor refuses.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/var/tmp", "sm-bin")
	if err == nil {
		err = smolvmtest.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "smolvm")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestContract asks what section 10 of the contract demands, letter by letter.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, section := range []struct {
		letter, what string
		ask          func(*world)
	}{
		{"A", "form of the command line", askForm},
		{"A", "version and help", askVersion},
		{"B", "state of many machines", askState},
		{"B", "calls at once", askAtOnce},
		{"B", "a state that lies deep below /tmp", askDeep},
		{"C", "create", askCreate},
		{"D", "start", askStart},
		{"D", "start runs init once and the workload each time", askWorkload},
		{"E", "stop keeps the disk", askStop},
		{"E", "stop and start of a child", askStopChild},
		{"F", "delete", askDelete},
		{"G", "ls", askList},
		{"H", "branch", askBranch},
		{"H", "refusals of branch", askBranchRefused},
		{"H", "mounts are shared, what is not mounted is the machine's own", askMounts},
		{"I", "a batch waits and fails", askBatchWaits},
		{"I", "a batch whose source is ready", askBatchReady},
		{"J", "branches of one source come one after the other", askSerial},
		{"K", "a frozen source", askFrozen},
		{"L", "exec: streams and codes", askExec},
		{"L", "exec: live and buffered", askLive},
		{"L", "exec: environment and folder", askEnvironment},
		{"L", "exec: time limit", askTimeout},
		{"L", "exec: killed", askKilled},
		{"L", "exec: much output", askMuch},
		{"L", "exec: not running", askNotRunning},
		{"M", "a child has the source's files of the branch", askMoment},
		{"M", "a child has the source's processes", askProcesses},
		{"N", "faults before anything happens", askFaults},
		{"N", "a machine that dies in a command", askDies},
		{"N", "a caller that is killed in a branch", askKilledBranch},
		{"N", "slow calls and full connections", askSlow},
		{"O", "cp", askCopy},
		{"O", "status and data-dir", askStatus},
		{"O", "checkpoint and pack", askPack},
		{"P", "the log", askLog},
	} {
		t.Run(section.letter+" "+section.what, func(t *testing.T) {
			t.Parallel()
			section.ask(newWorld(t))
		})
	}
}

// world is a stand-in with a state of its own.
type world struct {
	*testing.T
	dir string
	env []string
	ctx context.Context
}

const patience = 60 * time.Second

func newWorld(t *testing.T) *world {
	dir, err := os.MkdirTemp("/var/tmp", "sm")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	w := &world{T: t, dir: dir, ctx: ctx}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SMOLVM_DATA_DIR=" + w.path("d"), "SMOLVM_TEST_LOG=" + w.path("log")}
	t.Cleanup(func() {
		defer cancel()
		w.clean()
	})
	return w
}

// clean deletes what the test left, as whoever uses smolvm must, and looks whether anything is still there.
func (w *world) clean() {
	for _, m := range w.list() {
		if m["parent_machine"] == nil {
			w.ok("machine", "delete", "--name", m["name"].(string), "--force", "--cascade")
		}
	}
	w.eventually("no process is left", func() bool { return w.processes() == "" })
	for _, left := range []string{"sandbox/temp", "sandbox/state/scopes", "run"} {
		if entries, err := os.ReadDir(w.path("d", left)); err == nil && len(entries) > 0 {
			w.Errorf("left in %s: %v", left, entries)
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		w.Error(err)
	}
}

// processes are those whose arguments name this world's folder, or that stand in it.
func (w *world) processes() string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, f := range files {
		b, _ := os.ReadFile(f)
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(f), "cwd"))
		if bytes.Contains(b, []byte(w.dir+"/")) || strings.HasPrefix(cwd, w.dir+"/") {
			out = append(out, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return strings.Join(out, "\n")
}

func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// folder makes one on the host.
func (w *world) folder(name string) string {
	w.Helper()
	dir := w.path(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	return dir
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

// with is the world with more variables for its calls.
func (w *world) with(env ...string) *world {
	other := *w
	other.env = append(append([]string{}, w.env...), env...)
	return &other
}

func (w *world) fault(text string) *world { return w.with("SMOLVM_TEST_FAULT=" + text) }

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.ctx, program, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	return cmd
}

type result struct {
	out, err string
	code     int
}

func (w *world) run(args ...string) result {
	w.Helper()
	return w.given("", args...)
}

// given is run with something on stdin.
func (w *world) given(stdin string, args ...string) result {
	w.Helper()
	cmd := w.command(args...)
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		w.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// ok is run for a call that must end with 0.
func (w *world) ok(args ...string) string {
	w.Helper()
	r := w.run(args...)
	if r.code != 0 {
		w.Fatalf("%q: exit code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// refused is run for a call that must end with 1, with this text after "Error: " at the begin of a line.
func (w *world) refused(text string, args ...string) {
	w.Helper()
	r := w.run(args...)
	if r.code != 1 || !strings.Contains(r.err, text) || !regexp.MustCompile(`(?m)^Error: `).MatchString(r.err) {
		w.Errorf("%q: exit code %d\n%s, want 1 and %q", args, r.code, r.err, text)
	}
}

// machine makes one and starts it as a branch source.
func (w *world) machine(name string, flags ...string) {
	w.Helper()
	w.ok(append([]string{"machine", "create", "--name", name}, flags...)...)
	w.ok("machine", "start", "--name", name, "--branchable")
}

func (w *world) branch(from, name string) {
	w.Helper()
	w.ok("machine", "branch", "--from", from, "--name", name)
}

// sh runs a shell line in a machine and returns its output.
func (w *world) sh(name, line string) string {
	w.Helper()
	return strings.TrimSpace(w.ok("machine", "exec", "--name", name, "--", "sh", "-c", line))
}

// list is what `ls --json` tells.
func (w *world) list() []map[string]any {
	w.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(w.ok("machine", "ls", "--json")), &all); err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *world) shown(name string) map[string]any {
	w.Helper()
	for _, m := range w.list() {
		if m["name"] == name {
			return m
		}
	}
	w.Fatalf("there is no machine %s", name)
	return nil
}

func (w *world) is(name, state string) {
	w.Helper()
	w.equal(name, w.shown(name)["state"], any(state))
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// eventually waits for a condition.
func (w *world) eventually(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("waited in vain: %s\n%s", what, w.processes())
		}
	}
}

// background starts a call and returns its end.
func (w *world) background(args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- w.run(args...) }()
	return done
}

func (w *world) log() []smolvmtest.Call {
	w.Helper()
	calls, err := smolvmtest.ReadLog(w.path("log"))
	if err != nil {
		w.Fatal(err)
	}
	return calls
}

// call finds the last logged call whose arguments end so.
func (w *world) call(tail ...string) smolvmtest.Call {
	w.Helper()
	if c := w.logged(tail...); c != nil {
		return *c
	}
	w.Fatalf("no call %q is logged", tail)
	return smolvmtest.Call{}
}

// logged is call, or nil if there is none yet.
func (w *world) logged(tail ...string) *smolvmtest.Call {
	w.Helper()
	calls := w.log()
	for i := len(calls) - 1; i >= 0; i-- {
		if strings.HasSuffix("\x00"+strings.Join(calls[i].Args, "\x00"), "\x00"+strings.Join(tail, "\x00")) {
			return &calls[i]
		}
	}
	return nil
}
