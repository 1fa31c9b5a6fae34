package smolvm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

const (
	defaultGrace = 2 * time.Second
	// A guest takes eight connections at once. Those of the user's commands leave some for boxer's own.
	userSlots  = 5
	guestSlots = 2
	// lastWords is how long a command that was killed may take to be reported, before its smolvm is killed.
	lastWords = 3 * time.Second
)

// guests runs commands in machines.
type guests struct {
	program program
	watch   func(running) (ended func()) // told of each command, so that its end can be seen to

	mu    sync.Mutex
	slots map[string]*slots
	notes map[string]bool // environments that are in a machine, by machine and note
}

// slots are the connections of one machine.
type slots struct{ user, guest chan struct{} }

func newGuests(p program) *guests {
	return &guests{program: p, watch: func(running) func() { return func() {} }, slots: map[string]*slots{}, notes: map[string]bool{}}
}

func (g *guests) slotsOf(machine string) *slots {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slots[machine]
	if s == nil {
		s = &slots{make(chan struct{}, userSlots), make(chan struct{}, guestSlots)}
		g.slots[machine] = s
	}
	return s
}

// forget is for a machine that is gone: another may get its name.
func (g *guests) forget(machine string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.notes {
		if strings.HasPrefix(k, machine+" ") {
			delete(g.notes, k)
		}
	}
}

// inherit is for a child, which has its parent's notes.
func (g *guests) inherit(parent, child string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.notes {
		if note, ok := strings.CutPrefix(k, parent+" "); ok {
			g.notes[child+" "+note] = true
		}
	}
}

func take(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ask runs one of boxer's own scripts in a machine and returns its output and exit code.
func (g *guests) ask(ctx context.Context, machine, script string, args ...string) (string, int, error) {
	var out bytes.Buffer
	code, err := g.talk(ctx, talk{machine: machine, script: script, args: args, out: &out})
	return out.String(), code, err
}

// talk is one of boxer's own scripts in a machine, and its streams.
type talk struct {
	machine string
	script  string
	args    []string
	in      func() io.Reader // nil: there is no stdin
	live    bool             // more may come out than a plain exec can hold
	out     io.Writer
}

func (t talk) call() []string {
	call := []string{"machine", "exec", "--name", t.machine}
	if t.in != nil || t.live {
		call = append(call, "-i")
	}
	return append(append(call, "--", "/bin/sh", "-c", t.script, "boxer"), t.args...)
}

func (g *guests) talk(ctx context.Context, t talk) (code int, err error) {
	leave, err := take(ctx, g.slotsOf(t.machine).guest)
	if err != nil {
		return 0, err
	}
	defer leave()
	limit := limitOf("exec")
	if t.in != nil || t.live { // it copies something
		limit *= 10
	}
	if g.program.slow > 0 {
		limit = g.program.slow
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &runner.Error{
		Reason: fmt.Sprintf("smolvm machine exec --name %s did not end within %s", t.machine, limit), Cause: runner.BackendFailed, Fix: "smolvm machine ls",
	})
	defer cancel()
	for b := newBackoff(); ; {
		code, err := g.talkOnce(ctx, t)
		if !errors.Is(err, errPasses) || !b.next(ctx) {
			return code, err
		}
	}
}

func (g *guests) talkOnce(ctx context.Context, t talk) (int, error) {
	var errs bytes.Buffer
	out := &counter{w: t.out}
	c, err := g.program.command(ctx, 0, t.call()...)
	if err != nil {
		return 0, err
	}
	c.Stdout, c.Stderr = out, &errs
	if t.in != nil {
		c.Stdin = t.in()
	}
	err = c.Run()
	if ctx.Err() != nil && err != nil {
		return 0, context.Cause(ctx)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	code := c.ProcessState.ExitCode()
	if _, ours := errorLine(errs.String()); code != 1 && code >= 0 || code == 1 && !ours {
		return code, nil
	}
	fault := faultOf(t.call(), answer{"", errs.String(), code})
	if out.n == 0 && passes(t.call(), errs.String()) {
		return 0, fmt.Errorf("%w: %w", errPasses, fault)
	}
	return 0, fault
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}

// running is one command under way, as the reaper is told of it.
type running struct {
	ID      string
	Machine string
	Process runner.Process // the smolvm that runs it
}

// exec runs a user's command, as runner.Session.Exec says.
func (g *guests) exec(ctx context.Context, machine string, c runner.Command) (runner.Exit, error) {
	if err := context.Cause(ctx); err != nil {
		return runner.Exit{}, err
	}
	leave, err := take(ctx, g.slotsOf(machine).user)
	if err != nil {
		return runner.Exit{}, err
	}
	defer leave()
	for b := newBackoff(); ; {
		exit, err := g.try(ctx, machine, c)
		if !errors.Is(err, errPasses) || !b.next(ctx) {
			return exit, err
		}
	}
}

// errPasses lies beneath the error for a command that did not start because of something that goes away by itself.
var errPasses = errors.New("smolvm could not start the command just now")

func (g *guests) try(ctx context.Context, machine string, c runner.Command) (runner.Exit, error) {
	r := execution{guests: g, machine: machine, id: strings.ToLower(rand.Text()[:12]), c: c, terminal: terminal(c)}
	env := environmentScript(c.Env, c.User)
	from := "-"
	if c.Stdin != nil {
		var err error
		if from, err = g.note(ctx, machine, env); err != nil {
			return runner.Exit{}, err
		}
	}
	cmd, err := g.program.command(context.WithoutCancel(ctx), 0, r.call(from)...)
	if err != nil {
		return runner.Exit{}, err
	}
	r.stderr = &holder{to: c.Stderr}
	cmd.Stderr = r.stderr
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	} else {
		cmd.Stdin = strings.NewReader(env)
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if err := cmd.Start(); err != nil {
		return runner.Exit{}, fmt.Errorf("start smolvm: %w", err)
	}
	self, _ := identify(cmd.Process.Pid) // if it has ended there is nothing to see to
	ended := g.watch(running{r.id, machine, self})
	defer ended()
	done := make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait() //nolint:errcheck // the process state has it all
	}()
	cause := r.supervise(ctx, cmd, done)
	exit, err := r.conclude(cmd.ProcessState)
	if cause != nil {
		return exit, cause
	}
	return exit, err
}

// execution is one try to run a command.
type execution struct {
	*guests
	machine  string
	id       string
	c        runner.Command
	terminal bool
	stderr   *holder
}

// terminal tells whether the command is to have a terminal of its own: it reads from one and writes to one.
func terminal(c runner.Command) bool {
	for _, f := range []*os.File{c.Stdin, c.Stdout} {
		if f == nil {
			return false
		}
		info, err := f.Stat()
		null, nullErr := os.Stat(os.DevNull)
		if err != nil || nullErr != nil || info.Mode()&os.ModeCharDevice == 0 || os.SameFile(info, null) {
			return false
		}
	}
	return true
}

func (r execution) call(from string) []string {
	args := []string{"machine", "exec", "--name", r.machine, "-i"}
	script := runScript
	if r.terminal {
		args, script = append(args, "-t"), terminalScript
	}
	if r.c.User != "" {
		args = append(args, "--user", r.c.User)
	}
	return append(append(args, "--", "/bin/sh", "-c", script, "boxer", r.id, from, r.c.Dir), r.c.Args...)
}

// note brings an environment into a machine, once, and returns its name.
func (g *guests) note(ctx context.Context, machine, env string) (string, error) {
	name := noteOf(env)
	g.mu.Lock()
	there := g.notes[machine+" "+name]
	g.mu.Unlock()
	if there {
		return name, nil
	}
	code, err := g.talk(ctx, talk{
		machine: machine, script: noteScript, args: []string{"env-" + name}, out: io.Discard,
		in: func() io.Reader { return strings.NewReader(env) },
	})
	if err == nil && code != 0 {
		err = (&runner.Error{
			Reason: fmt.Sprintf("the machine %s cannot keep a file in %s (exit code %d)", machine, guestDir, code),
			Cause:  runner.BackendFailed, Fix: "boxer ls --resources",
		})
	}
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notes[machine+" "+name] = true
	return name, nil
}

// supervise passes signals on until the command has ended. At the end of ctx it ends the command, first kindly.
func (r execution) supervise(ctx context.Context, cmd *exec.Cmd, done <-chan struct{}) error {
	signals := r.c.Signals
	for {
		select {
		case <-done:
			return nil
		case sig, open := <-signals:
			if n, ok := sig.(syscall.Signal); ok {
				go r.send(n)
			} else if !open {
				signals = nil
			}
		case <-ctx.Done():
			r.end(cmd, done)
			return context.Cause(ctx)
		}
	}
}

func (r execution) end(cmd *exec.Cmd, done <-chan struct{}) {
	over := func(limit time.Duration) bool {
		select {
		case <-done:
			return true
		case <-time.After(limit):
			return false
		}
	}
	grace := r.c.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	if grace > 0 && !r.terminal {
		go r.send(syscall.SIGTERM)
		if over(grace) {
			return
		}
	}
	if !r.terminal {
		r.send(syscall.SIGKILL)
	}
	if over(lastWords) {
		return
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // ended just now
	<-done
}

// send signals the command's process group, by another command in the machine. One that comes too late is of no
// interest.
func (r execution) send(sig syscall.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*lastWords)
	defer cancel()
	r.ask(ctx, r.machine, signalScript, r.id, strconv.Itoa(int(sig))) //nolint:errcheck // same
}

// conclude tells what an exit code means. smolvm fails with 1, as commands do: what it says then begins like an error
// of its own, and the script in the machine left no note.
func (r execution) conclude(state *os.ProcessState) (runner.Exit, error) {
	code := state.ExitCode()
	if code != 1 && code != 126 && code != 127 && code >= 0 {
		r.stderr.flush()
		return exitOf(code), nil
	}
	text, ours := r.stderr.own()
	if code == 1 && !ours {
		r.stderr.flush()
		return exitOf(code), nil
	}
	if !r.terminal {
		switch end := r.endNote(); {
		case strings.HasPrefix(end, "own "):
			r.stderr.flush()
			return exitOf(code), nil
		case end != "":
			return exitOf(code), r.refusal(end)
		}
	}
	if code == 126 || code == 127 { // the machine's own words
		r.stderr.flush()
		return exitOf(code), nil
	}
	if code < 0 {
		r.stderr.flush()
		if !r.terminal {
			r.send(syscall.SIGKILL) // smolvm cannot end it any more
		}
		if st, ok := state.Sys().(syscall.WaitStatus); ok && st.Signal() == syscall.SIGPIPE { // nobody reads its output any more
			return exitOf(128 + int(syscall.SIGPIPE)), nil
		}
		return runner.Exit{Code: 137, Signal: syscall.SIGKILL}, (&runner.Error{
			Reason: "the smolvm that ran the command was killed", Cause: runner.Gone, Fix: "boxer ls",
		})
	}
	call := r.call("-")
	err := faultOf(call, answer{"", text, code})
	if passes(call, text) {
		return runner.Exit{}, fmt.Errorf("%w: %w", errPasses, err)
	}
	return runner.Exit{}, err
}

// endNote is what the script in the machine noted of a command's end, "" if it noted nothing or cannot be asked.
func (r execution) endNote() string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*lastWords)
	defer cancel()
	var out bytes.Buffer
	leave, err := take(ctx, r.slotsOf(r.machine).guest)
	if err != nil {
		return ""
	}
	defer leave()
	r.talkOnce(ctx, talk{ //nolint:errcheck // then it tells nothing
		machine: r.machine, script: `cat ` + guestDir + `/$1.end 2>/dev/null; rm -f ` + guestDir + `/$1.end`, args: []string{r.id}, out: &out,
	})
	return strings.TrimSpace(out.String())
}

func (r execution) refusal(end string) error {
	name := r.c.Args[0]
	switch end {
	case "missing":
		return &runner.Error{Reason: fmt.Sprintf("the program %q was not found in the sandbox", name), Cause: runner.CommandNotFound, Fix: "boxer run -c 'echo $PATH'"}
	case "plain":
		return &runner.Error{Reason: fmt.Sprintf("%q is there in the sandbox and cannot be executed", name), Cause: runner.CommandNotExecutable, Fix: "chmod +x " + name}
	case "folder":
		return &runner.Error{Reason: fmt.Sprintf("the folder %s cannot be entered in the sandbox", r.c.Dir), Cause: "NO_FOLDER", Fix: "boxer run -c 'ls -la'"}
	}
	return &runner.Error{Reason: "the environment did not reach the sandbox", Cause: runner.BackendFailed, Fix: "boxer ls"}
}

// exitOf reads an exit code: 128 and a signal's number are all that smolvm tells of a signal.
func exitOf(code int) runner.Exit {
	if code > 128 && code < 128+32 {
		return runner.Exit{Code: code, Signal: syscall.Signal(code - 128)}
	}
	return runner.Exit{Code: code}
}
