package smolvmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// backend is the part of a runner.Backend that the machines need, and the end of one whose keeper may not answer.
type backend interface {
	runner.Backend
	Down(ctx context.Context, s runner.Scope) error
}

// guest is a machine whose sandbox is there.
type guest struct {
	runner.Session
	machine
}

// wake starts the machine's sandbox, or empties the one that holds its disk.
func (c *call) wake(m *machine) (runner.Session, error) {
	if m.Scope != "" {
		s, err := c.attach(*m)
		if err == nil {
			if err = (guest{s, *m}).empty(c); err != nil {
				s.Close()
				return nil, err
			}
			return s, nil
		}
		if m.Child != "" {
			return nil, err
		}
	}
	dir, err := c.store.scope(m.Name)
	if err != nil {
		return nil, err
	}
	b, scope, err := c.backend(dir)
	if err != nil {
		return nil, err
	}
	spec := runner.Spec{Worktree: runner.Live, Dir: "/", Hide: append(filepath.SplitList(c.getenv("SMOLVM_TEST_HIDE")), c.store.dir)}
	for _, v := range m.Volumes {
		if v.Mode != remote {
			spec.Mounts = append(spec.Mounts, runner.Mount{Source: v.Host, Target: v.Guest, ReadOnly: v.Mode == readOnly})
		}
	}
	s, err := b.Start(c.ctx, scope, spec, nil)
	if err != nil {
		return nil, err
	}
	if err := s.Keep(c.ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	m.Scope = dir
	return s, nil
}

func (c *call) backend(dir string) (backend, runner.Scope, error) {
	b, err := newBackend(c.store.dirs())
	if err != nil {
		return nil, runner.Scope{}, err
	}
	scope, err := runner.ScopeOf(dir)
	return b, scope, err
}

// attach connects to the sandbox of a machine that was started.
func (c *call) attach(m machine) (runner.Session, error) {
	b, scope, err := c.backend(m.Scope)
	if err != nil {
		return nil, err
	}
	return b.Attach(c.ctx, scope)
}

// reset leaves of a machine's sandbox only the disk. Where the sandbox is gone there is nothing to do.
func (c *call) reset(m machine) error {
	s, err := c.attach(m)
	if runner.CauseOf(err) == runner.NotRunning {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	return guest{s, m}.empty(c)
}

// discard takes a machine's sandbox away, and its disk with it.
func (c *call) discard(m machine) error {
	if m.Scope == "" {
		return nil
	}
	b, scope, err := c.backend(m.Scope)
	if err != nil {
		return err
	}
	if m.Child == "" {
		return b.Down(c.ctx, scope)
	}
	s, err := b.Attach(c.ctx, scope)
	if runner.CauseOf(err) == runner.NotRunning {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.Remove(c.ctx, m.Child), s.Close())
}

// everyone runs a command with the number of each process of the sandbox, less its first one, the shell itself, and
// the program that boxer brings a parent's commands in by.
const everyone = `for d in /proc/[0-9]*; do
	p=${d#/proc/}
	[ "$p" = 1 ] || [ "$p" = $$ ] && continue
	case $(tr '\0' ' ' <"$d/cmdline" 2>/dev/null) in *' boxer-run '*) continue ;; esac
	kill -%s "$p" 2>/dev/null
done`

func (g guest) signal(ctx context.Context, signal string) error {
	return g.shell(ctx, fmt.Sprintf(everyone, signal)+"\ntrue")
}

// empty ends all processes and removes the files that a machine has in its memory. What is mounted there is not
// touched, nor is boxer's own folder, should it be there.
func (g guest) empty(c *call) error {
	if err := g.signal(c.ctx, "KILL"); err != nil {
		return err
	}
	keep := c.store.dirs().Temp
	return g.shell(c.ctx, fmt.Sprintf(`find /tmp /dev/shm -mindepth 1 -xdev ! -path '%s' ! -path '%[1]s/*' -delete 2>/dev/null; true`, keep))
}

// shell runs a line as root and returns an error unless it ends with 0.
func (g guest) shell(ctx context.Context, line string) error {
	_, err := g.output(ctx, []string{"/bin/sh", "-c", line})
	return err
}

// output runs a command and returns what it wrote to stdout.
func (g guest) output(ctx context.Context, args []string) (string, error) {
	out, outW, err := relay(nil)
	if err != nil {
		return "", err
	}
	errs, errW, err := relay(nil)
	if err != nil {
		return "", err
	}
	exit, err := g.Exec(ctx, g.Child, runner.Command{
		Args: args, Dir: "/", Env: g.environ(nil), Stdout: outW, Stderr: errW, Grace: -1,
	})
	outW.Close()
	errW.Close()
	out.wait(plainDrain)
	errs.wait(plainDrain)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d: %s", exit.Code, strings.TrimSpace(errs.text()))
	}
	return out.text(), err
}

// detach starts a command that nobody waits for, and returns its number.
func (g guest) detach(ctx context.Context, args []string) (string, error) {
	const line = `cd "$0" && setsid "$@" </dev/null >/dev/null 2>&1 & echo $!`
	dir := g.Workdir
	if dir == "" {
		dir = "/"
	}
	pid, err := g.output(ctx, append([]string{"/bin/sh", "-c", line, dir}, args...))
	return strings.TrimSpace(pid), err
}

// environ is what a command finds: what every guest has, then the record, then what the call gives. The last one wins.
func (g guest) environ(more []string) []string {
	base := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	var out []string
	at := map[string]int{}
	for _, list := range [][]string{base, g.Env, more} {
		for _, v := range list {
			name, _, _ := strings.Cut(v, "=")
			if i, there := at[name]; there {
				out[i] = v
				continue
			}
			at[name] = len(out)
			out = append(out, v)
		}
	}
	return out
}

// stream is output on its way from the guest.
type stream struct {
	r    *os.File
	buf  bytes.Buffer
	done chan struct{}
}

// relay makes a pipe whose content is copied to w, or kept if w is nil.
func relay(w io.Writer) (*stream, *os.File, error) {
	r, pw, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &stream{r: r, done: make(chan struct{})}
	if w == nil {
		w = &s.buf
	}
	go func() {
		defer close(s.done)
		io.Copy(w, r) //nolint:errcheck // a reader that is gone is no affair of the guest's
		r.Close()
	}()
	return s, pw, nil
}

func (s *stream) text() string { return s.buf.String() }
