package smolvmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

const (
	outputCap  = 11 << 20        // bytes
	plainDrain = 5 * time.Second // how long a process that a command left behind may hold its output, without -i and --stream
	liveDrain  = time.Second     // and with one of them; what smolvm does there is not known
)

// exec is `machine exec`.
func (c *call) exec() (int, error) {
	limit, err := c.args.duration("timeout")
	if err != nil {
		return 2, err
	}
	m, err := c.usable()
	if err != nil {
		return 1, err
	}
	c.slow()
	if c.fault("gap") != nil {
		return 1, failf("agent operation failed: exec: the container '%s' is not running", m.Name)
	}
	if c.args.has("user") && m.Image == "" {
		return 1, failf("config operation failed: exec: --user needs a machine with an image")
	}
	env, err := c.execEnv()
	if err != nil {
		return 1, err
	}
	if f := c.fault("slots"); f != nil {
		leave, err := c.slot(m, f)
		if err != nil {
			return 1, err
		}
		defer leave()
	}
	s, err := c.attach(m)
	if err != nil {
		return 1, c.notAnswering(m)
	}
	defer s.Close()
	if dir := c.args.one("workdir"); dir != "" {
		m.Workdir = dir
	}
	g := guest{s, m}
	if c.args.has("detach") {
		g.Env = append(g.Env, env...)
		pid, err := g.detach(c.ctx, c.args.trailing)
		if err == nil {
			fmt.Fprintln(c.Out, pid)
		}
		return 0, err
	}
	return c.execIn(g, env, limit)
}

// usable finds a machine that commands can run in. Nothing is started for that.
func (c *call) usable() (machine, error) {
	m, err := c.store.get(c.machine)
	switch {
	case err != nil:
		return m, err
	case m.State == frozen:
		return m, failf("agent operation failed: connect: machine '%s' is frozen as a reusable fork base", m.Name)
	case m.State != running:
		return m, errNotRunning(m.Name)
	}
	return m, nil
}

func errNotRunning(name string) error {
	return failf("agent operation failed: connect: machine '%s' is not running. Use 'smolvm machine start --name %[1]s' first.", name)
}

// notAnswering marks a machine whose process is there but whose sandbox is not.
func (c *call) notAnswering(m machine) error {
	return errors.Join(errNotRunning(m.Name), c.store.update(m.Name, func(now *machine) { now.State = unreachable }))
}

func (c *call) execEnv() ([]string, error) {
	env, err := environment(c.args.values["env"])
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ref := range c.args.values["secret-env"] {
		guest, host, _ := strings.Cut(ref, "=")
		out = append(out, guest+"="+c.getenv(host))
	}
	for _, ref := range c.args.values["secret-file"] {
		guest, path, _ := strings.Cut(ref, "=")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, failf("config operation failed: --secret-file: %w", err)
		}
		out = append(out, guest+"="+strings.TrimSuffix(string(text), "\n"))
	}
	return append(out, env...), nil
}

// slot takes one of the connections that a guest has.
func (c *call) slot(m machine, f *fault) (leave func(), err error) {
	count := 8
	fmt.Sscan(f.value, &count)
	for {
		for i := range count {
			file, err := os.OpenFile(filepath.Join(c.store.vm(m.Name), fmt.Sprintf("slot-%d", i)), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				return nil, err
			}
			if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				return func() { file.Close() }, nil
			}
			file.Close()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *call) execIn(g guest, env []string, limit time.Duration) (int, error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	x := &execution{cancel: cancel, dead: make(chan struct{})}
	x.struck = func() { c.atOutput(g, x) }
	x.live = c.args.has("interactive") || c.args.has("stream") || c.args.has("tty")
	out, errs := &output{x: x, cap: c.args.has("stream")}, &output{x: x, cap: c.args.has("stream")}
	if x.live {
		out.w, errs.w = c.Out, c.Err
	}
	cmd := runner.Command{Args: c.args.trailing, Dir: g.Workdir, Env: g.environ(env), User: c.user(g), Grace: -1}
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	finish, err := c.connect(&cmd, out, errs, x.live)
	if err != nil {
		return 1, err
	}
	defer c.afterStart(g, x)()
	exit, err := g.Exec(ctx, g.Child, cmd)
	if x.died.Load() {
		<-x.dead
		err = errDied
	}
	finish()
	return c.ended(g, exit, err, limit, out, errs)
}

func (c *call) user(g guest) string {
	if u := c.args.one("user"); u != "" {
		return u
	}
	return g.User
}

// ended prints what was kept, and turns the command's end into the call's.
func (c *call) ended(g guest, exit runner.Exit, err error, limit time.Duration, out, errs *output) (int, error) {
	switch {
	case errors.Is(err, errTooMuch):
		return 1, failf("agent operation failed: exec: command output exceeded %d bytes", outputCap)
	case errors.Is(err, errStream):
		return 1, late(fmt.Sprintf("agent operation failed: streaming output exceeded %d bytes", outputCap))
	case errors.Is(err, errDied):
		return 1, failf("agent operation failed: exec: connection closed by the agent")
	}
	if out.w == nil {
		c.Out.Write(out.kept.Bytes())
		c.Err.Write(errs.kept.Bytes())
	}
	switch {
	case err == nil:
		return exit.Code, nil
	case errors.Is(err, context.DeadlineExceeded):
		if g.Image != "" && out.w == nil {
			fmt.Fprintf(c.Err, "command timed out after %dms\n", limit.Milliseconds())
		}
		return 124, nil
	}
	return 1, c.notRun(g, err)
}

// notRun tells why there is no exit code. Of a program that is not there only the place is known: on stderr, with 1.
func (c *call) notRun(g guest, err error) error {
	program := c.args.trailing[0]
	switch runner.CauseOf(err) {
	case runner.CommandNotFound:
		if g.Image != "" {
			return failf("agent operation failed: exec: executable file `%s` not found in $PATH: No such file or directory", program)
		}
		return failf("agent operation failed: exec: failed to spawn command: %s: No such file or directory (os error 2)", program)
	case runner.CommandNotExecutable:
		return failf("agent operation failed: exec: failed to spawn command: %s: Permission denied (os error 13)", program)
	case runner.Gone, runner.NotRunning:
		return failf("agent operation failed: exec: connection closed by the agent")
	}
	return failf("agent operation failed: exec: %w", err)
}

// atOutput is where faults strike that wait for the command to be under way.
func (c *call) atOutput(g guest, x *execution) {
	for _, kind := range []string{"die", "vanish"} {
		if f := c.fault(kind); f != nil && f.value == "" {
			c.crash(g, kind, x)
		}
	}
	if f := c.fault("kill"); f != nil {
		f.kill()
	}
}

// afterStart is where they strike that have a time of their own.
func (c *call) afterStart(g guest, x *execution) (stop func()) {
	for _, kind := range []string{"die", "vanish"} {
		if f := c.fault(kind); f != nil && f.value != "" {
			t := time.AfterFunc(f.duration(0), func() { c.crash(g, kind, x) })
			return func() { t.Stop() }
		}
	}
	return func() {}
}

// crash ends the machine in the middle of a command: its process is gone, or it is there and does not answer.
func (c *call) crash(g guest, kind string, x *execution) {
	if x.died.Swap(true) {
		return
	}
	defer close(x.dead)
	err := g.signal(c.ctx, "KILL")
	if kind == "die" {
		g.Process.kill()
	} else {
		err = errors.Join(err, c.store.update(g.Name, func(now *machine) { now.State = unreachable }))
	}
	if err != nil {
		fmt.Fprintln(c.Err, "smolvmtest:", err)
	}
	x.cancel(errDied)
}
