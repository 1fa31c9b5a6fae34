package smolvm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// program is the smolvm on this machine.
type program struct {
	path string        // "" is the one on PATH
	env  []string      // nil is this process's
	slow time.Duration // how long a call may take; 0 is limitOf
}

const (
	// killTime is how long after its kill a call may still hold up its caller.
	killTime = time.Second
	// branchGrace is how long a branch that nobody wants any more may go on: one that is cut off leaves what only a
	// person can find.
	branchGrace = 2 * time.Second
	removeTime  = 60 * time.Second
)

// limitOf is how long a call may take before boxer says that it hangs. A first start may fetch an image.
func limitOf(verb string) time.Duration {
	switch verb {
	case "start", "pack":
		return 10 * time.Minute
	case "branch":
		return 2 * time.Minute
	default:
		return time.Minute
	}
}

// command is the only place where a smolvm is made ready to start. Its group is its own, so that a terminal's signals
// do not reach it, and its end is the whole group's.
func (p program) command(ctx context.Context, grace time.Duration, args ...string) (*exec.Cmd, error) {
	path := p.path
	if path == "" {
		var err error
		if path, err = exec.LookPath(Kind); err != nil {
			return nil, missing().Because(err)
		}
	}
	c := exec.CommandContext(ctx, path, args...)
	env := p.env
	if env == nil {
		env = os.Environ()
	}
	c.Env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "SMOLVM_MACHINE_NAME=") })
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		over := func() bool { return c.Process.Signal(syscall.Signal(0)) != nil } // its number may be another's then
		for end := time.Now().Add(grace); time.Now().Before(end) && !over(); time.Sleep(poll) {
		}
		if over() {
			return os.ErrProcessDone
		}
		return syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	c.WaitDelay = grace + killTime
	return c, nil
}

// answer is what a call came to.
type answer struct {
	out, err string
	code     int
}

// once runs one call to its end. The error is of boxer's own; what smolvm says is in the answer. Its output goes to
// files: a machine's own process may inherit it, and would hold a pipe open as long as it lives.
func (p program) once(ctx context.Context, begun func(pid int), args ...string) (answer, error) {
	out, err := scratch()
	if err != nil {
		return answer{}, err
	}
	defer out.Close()
	errs, err := scratch()
	if err != nil {
		return answer{}, err
	}
	defer errs.Close()
	limit := limitOf(verbOf(args))
	if p.slow > 0 {
		limit = p.slow
	}
	hangs := &runner.Error{
		Reason: fmt.Sprintf("smolvm %s did not end within %s", strings.Join(short(args), " "), limit),
		Cause:  runner.BackendFailed, Fix: "smolvm machine ls",
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, hangs)
	defer cancel()
	var grace time.Duration
	if verbOf(args) == "branch" {
		grace = branchGrace
	}
	c, err := p.command(ctx, grace, args...)
	if err != nil {
		return answer{}, err
	}
	c.Stdout, c.Stderr = out, errs
	if err := c.Start(); err != nil {
		return answer{}, fmt.Errorf("start smolvm: %w", err)
	}
	if begun != nil {
		begun(c.Process.Pid)
	}
	err = c.Wait()
	a := answer{contentOf(out), contentOf(errs), c.ProcessState.ExitCode()}
	if ctx.Err() != nil && (err != nil || a.code != 0) {
		return a, context.Cause(ctx)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return a, err
	}
	return a, nil
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "boxer-smolvm-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}

func contentOf(f *os.File) string {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(f, 16<<20)) // what cannot be read shows as missing
	return string(b)
}

func verbOf(args []string) string {
	if len(args) > 1 && args[0] == "machine" {
		if args[1] == "create" && slices.Contains(args, "--from") {
			return "pack" // it unpacks a whole machine
		}
		return args[1]
	}
	return args[0]
}

// short leaves out what a message need not repeat.
func short(args []string) []string {
	for _, from := range []string{"--", "--label"} {
		if i := slices.Index(args, from); i > 0 {
			args = args[:i]
		}
	}
	return args[:min(len(args), 6)]
}

// do runs a call until it works, as often as its failure is one that passes.
func (p program) do(ctx context.Context, args ...string) (string, error) {
	return p.doing(ctx, nil, args...)
}

func (p program) doing(ctx context.Context, begun func(pid int), args ...string) (string, error) {
	for b := newBackoff(); ; {
		a, err := p.once(ctx, begun, args...)
		if err != nil {
			return a.out, err
		}
		if a.code == 0 {
			return a.out, nil
		}
		if !passes(args, a.err) || !b.next(ctx) {
			return a.out, faultOf(args, a)
		}
	}
}

// backoff is the bounded patience with failures that pass.
type backoff struct {
	tries int
	wait  time.Duration
}

func newBackoff() *backoff { return &backoff{tries: 16, wait: 25 * time.Millisecond} }

func (b *backoff) next(ctx context.Context) bool {
	if b.tries--; b.tries <= 0 {
		return false
	}
	if wait(ctx, b.wait) != nil {
		return false
	}
	b.wait = min(2*b.wait, 500*time.Millisecond)
	return true
}

// machine is one line of machine ls --json. Its branchable tells a stored setting and not this boot's, so it is not
// read.
type machine struct {
	Name    string            `json:"name"`
	State   string            `json:"state"`
	PID     *int              `json:"pid"`
	Parent  *string           `json:"parent_machine"`
	Created int64             `json:"created_at"` // Unix seconds
	Labels  map[string]string `json:"labels"`
}

// lives tells whether its processes run. An unreachable one may only be busy.
func (m machine) lives() bool {
	switch m.State {
	case "running", "unreachable", "frozen", "pausing":
		return m.PID != nil
	}
	return false
}

// list reads all machines. Output that is no list is asked for again before it is an error.
func (p program) list(ctx context.Context) ([]machine, error) {
	var last error
	for range 3 {
		out, err := p.do(ctx, "machine", "ls", "--json")
		if err != nil {
			return nil, err
		}
		var all []machine
		if err = json.Unmarshal([]byte(out), &all); err == nil {
			return all, nil
		}
		last = (&runner.Error{
			Reason: "smolvm machine ls --json printed no list of machines", Cause: runner.BackendFailed,
			Fix: "smolvm machine ls --json", Output: runner.LastLines([]byte(out)),
		}).Because(err)
	}
	return nil, last
}

// find is the named machine, ok is false without one.
func (p program) find(ctx context.Context, name string) (m machine, ok bool, err error) {
	all, err := p.list(ctx)
	for _, m := range all {
		if m.Name == name {
			return m, true, err
		}
	}
	return machine{}, false, err
}

// The labels of boxer's machines. A child has its parent's.
const (
	labelScope    = "boxer.scope"
	labelState    = "boxer.state" // whose: two users' boxers must not remove each other's machines
	labelWorktree = "boxer.worktree"
	labelSpec     = "boxer.spec"
)

// stateID names boxer's own state folder without telling where it is.
func (b *Backend) stateID() string {
	sum := sha256.Sum256([]byte(b.dirs.State))
	return hex.EncodeToString(sum[:6])
}

func (m machine) is(key, state string) bool {
	return m.Labels[labelScope] == key && m.Labels[labelState] == state
}

// remove ends machines and deletes them, several at a time. One that is gone is no error, and every one is tried.
func (p program) remove(ctx context.Context, names ...string) error {
	errs := make([]error, len(names))
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			_, err := p.do(ctx, "machine", "delete", "--name", name, "--force", "--cascade")
			if !errors.Is(err, errNoMachine) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// removeFamily deletes all machines of a scope: children first, then the parent, and looks whether any is left. made
// tells that the book knows of the parent: then it goes even where smolvm cannot list what there is.
func (p program) removeFamily(ctx context.Context, key, state string, made bool) error {
	var last error
	for range 3 {
		all, err := p.list(ctx)
		if err != nil && made {
			return p.remove(ctx, key)
		}
		if runner.CauseOf(err) == runner.BackendUnavailable {
			return nil // without the program nothing was made
		}
		if err != nil {
			return err
		}
		var children, parents []string
		for _, m := range all {
			switch {
			case !m.is(key, state):
			case m.Name == key:
				parents = append(parents, m.Name)
			default:
				children = append(children, m.Name)
			}
		}
		if len(children)+len(parents) == 0 {
			return last
		}
		last = errors.Join(p.remove(ctx, children...), p.remove(ctx, parents...))
		if last != nil && ctx.Err() != nil {
			return last
		}
	}
	all, err := p.list(ctx)
	if err != nil {
		return errors.Join(last, err)
	}
	for _, m := range all {
		if m.is(key, state) {
			last = errors.Join(last, fmt.Errorf("the machine %s is still there", m.Name))
		}
	}
	return last
}

// errorLine finds what smolvm itself has to say in a stderr that may begin with log lines.
func errorLine(stderr string) (text string, found bool) {
	b := []byte(stderr)
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		if t, ok := bytes.CutPrefix(line, []byte("Error: ")); ok {
			if len(bytes.TrimSpace(rest)) > 0 {
				t = append(append(bytes.Clone(t), '\n'), rest...)
			}
			return strings.TrimSpace(string(t)), true
		}
		b = rest
	}
	return "", false
}
