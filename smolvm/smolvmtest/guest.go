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
	runner.Unpacker
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
			if err = (guest{s, *m}).empty(c); err == nil {
				return s, nil
			}
			err = errors.Join(err, s.Close())
		}
		if !gone(err) || m.Child != "" {
			return nil, err
		}
		if err := c.discard(*m); err != nil { // the sandbox itself died: with it the disk is gone
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
	m.Scope = dir
	if err := c.store.update(m.Name, func(now *machine) { now.Scope = dir }); err != nil { // before there is something to find
		return nil, err
	}
	s, err := c.startFresh(b, scope, m, spec)
	if err != nil {
		return nil, err
	}
	if err := s.Keep(c.ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
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
	if err == nil {
		err = errors.Join(guest{s, m}.empty(c), s.Close())
	}
	if gone(err) {
		return nil
	}
	return err
}

// gone tells of a sandbox that is not there any more.
func gone(err error) bool {
	cause := runner.CauseOf(err)
	return cause == runner.NotRunning || cause == runner.Gone
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

// everyone sends a signal to each process of the sandbox, less its first one, the shell itself, the program that boxer
// brings a parent's commands in by, and those that have ended. For what was started meanwhile it does so once more;
// when they are to be killed it goes on until nobody is left.
const everyone = `i=0
while [ $i -lt $2 ]; do
	i=$((i+1)) found=
	for d in /proc/[0-9]*; do
		p=${d#/proc/}
		[ "$p" = 1 ] || [ "$p" = $$ ] && continue
		case $(tr '\0' ' ' <"$d/cmdline" 2>/dev/null) in '' | *' boxer-run ') continue ;; esac
		kill -$1 "$p" 2>/dev/null && found=$p
	done
	[ -z "$found" ] && exit 0
done
[ $1 != KILL ]`

func (g guest) signal(ctx context.Context, signal string) error {
	rounds := "2"
	if signal == "KILL" {
		rounds = "50"
	}
	_, err := g.output(ctx, []string{"/bin/sh", "-c", everyone, "everyone", signal, rounds})
	return err
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
