package smolvmtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// copy is `machine cp`: one file, to or from a running machine.
func (c *call) copy() (int, error) {
	src, dst := c.args.positional[0], c.args.positional[1]
	from, fromPath, up1 := strings.Cut(src, ":")
	to, toPath, up2 := strings.Cut(dst, ":")
	if up1 == up2 {
		return 1, failf("config operation failed: cp: exactly one side must be NAME:/abs/path")
	}
	inside := fromPath
	c.machine = from
	if up2 {
		inside, c.machine = toPath, to
	}
	if !filepath.IsAbs(inside) {
		return 1, failf("config operation failed: cp: the path in the machine must be absolute: %s", inside)
	}
	upload := up2
	if !upload && (c.args.has("mode") || c.args.has("uid") || c.args.has("gid")) {
		return 1, failf("config operation failed: cp: --mode, --uid and --gid are for uploads only")
	}
	m, err := c.usable()
	if err != nil {
		return 1, err
	}
	s, err := c.attach(m)
	if err != nil {
		return 1, c.notAnswering(m)
	}
	defer s.Close()
	if upload {
		return 0, c.upload(guest{s, m}, src, inside)
	}
	return 0, c.download(guest{s, m}, inside, dst)
}

func (c *call) upload(g guest, src, inside string) error {
	f, err := os.Open(src)
	if err != nil {
		return failf("agent operation failed: cp: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", src)
	}
	if err != nil {
		return failf("agent operation failed: cp: %w", err)
	}
	mode := c.args.one("mode")
	if mode == "" {
		mode = fmt.Sprintf("%o", info.Mode().Perm())
	}
	const line = `cat >"$1" && chmod "$2" "$1" && chown "$3:$4" "$1"`
	return c.cat(g, runner.Command{
		Args: []string{"/bin/sh", "-c", line, "cp", inside, mode, zero(c.args.one("uid")), zero(c.args.one("gid"))}, Stdin: f,
	})
}

func zero(id string) string {
	if id == "" {
		return "0"
	}
	return id
}

func (c *call) download(g guest, inside, dst string) error {
	if info, err := os.Stat(dst); err == nil && info.IsDir() {
		dst = filepath.Join(dst, filepath.Base(inside))
	}
	f, err := os.OpenFile(dst, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return failf("agent operation failed: cp: %w", err)
	}
	err = c.cat(g, runner.Command{Args: []string{"/bin/sh", "-c", `test -f "$1" && exec cat "$1"`, "cp", inside}, Stdout: f})
	return errors.Join(err, f.Close())
}

func (c *call) cat(g guest, cmd runner.Command) error {
	cmd.Dir, cmd.Env, cmd.Grace = "/", g.environ(nil), -1
	exit, err := g.Exec(c.ctx, g.Child, cmd)
	if err == nil && exit.Code != 0 {
		err = errors.New("the file cannot be read or written")
	}
	if err != nil {
		return failf("agent operation failed: cp: %w", err)
	}
	return nil
}

// checkpoint is `machine checkpoint`, whose refusal is what matters: with a mount there is none.
func (c *call) checkpoint() (int, error) {
	m, unlock, err := c.held()
	if err != nil {
		return 1, err
	}
	defer unlock()
	out := c.args.one("output")
	switch {
	case m.State != running:
		return 1, errNotRunning(m.Name)
	case !m.Source && !m.Stored:
		return 1, failf("agent operation failed: checkpoint: machine '%s' was not started as branchable", m.Name)
	case len(m.Volumes) > 0:
		return 1, failf("config operation failed: checkpoint machine: the initial portable checkpoint profile does not support host mounts; stop or detach these resources before capture")
	case !strings.HasSuffix(out, ".checkpoint") && !strings.HasSuffix(out, ".smolcheckpoint"):
		return 1, failf("config operation failed: checkpoint machine: the output must end in .checkpoint")
	}
	if err := c.writePack(out, m); err != nil {
		return 1, err
	}
	fmt.Fprintf(c.Out, "Checkpointed '%s' to %s (1 MiB written, 0.001s total, 0.001s source pause)\n", m.Name, out)
	return 0, nil
}
