package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
)

// program is what a command comes down to.
type program struct {
	path string // absolute
	dir  string
	env  []string
	as   *syscall.Credential // nil is who runs the keeper
}

// program finds the command's program, as a shell would in its folder and with its environment.
func (e *engine) program(c runner.Command) (program, error) {
	p := program{dir: c.Dir, env: append([]string(nil), c.Env...)}
	if p.dir == "" {
		p.dir = e.scope.Worktree
	}
	if len(c.Args) == 0 || c.Args[0] == "" {
		return p, e.refuse(runner.CommandNotFound, "the command is empty", "boxer run -- PROG ARG...")
	}
	if info, err := os.Stat(p.dir); err != nil || !info.IsDir() {
		return p, e.refuse("NO_FOLDER", fmt.Sprintf("the folder %s, in which the command should start, is not there", p.dir), "ls -d "+p.dir)
	}
	if err := e.account(&p, c.User); err != nil {
		return p, err
	}
	return p, e.look(&p, c.Args[0])
}

func (e *engine) look(p *program, name string) error {
	if strings.Contains(name, "/") {
		p.path = name
		if !filepath.IsAbs(name) {
			p.path = filepath.Join(p.dir, name)
		}
		return e.judge(name, executable(p.path))
	}
	var worst error = fs.ErrNotExist // what cannot even be looked at, as in another user's folder, is not there
	for _, dir := range filepath.SplitList(valueOf(p.env, "PATH")) {
		if dir == "" {
			dir = "."
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.dir, dir)
		}
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if worst = executable(path); worst == nil {
			p.path = path
			return nil
		}
	}
	return e.judge(name, worst)
}

// executable tells why a file is no program. The kernel has the last word when it is started.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode().Perm()&0o111 == 0:
		return fs.ErrPermission
	}
	return nil
}

func (e *engine) judge(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return e.refuse(runner.CommandNotFound, fmt.Sprintf("%s: command not found (PATH is the one boxer was called with)", name), "command -v "+name)
	default:
		return e.refuse(runner.CommandNotExecutable, fmt.Sprintf("%s: not executable", name), "ls -l "+name).(*runner.Error).Because(err)
	}
}

// cannotStart reads the kernel's refusal of a program that looked right.
func (e *engine) cannotStart(c runner.Command, p program, err error) error {
	switch {
	case p.as != nil && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)):
		return e.refuse("USER_REFUSED", fmt.Sprintf("%s cannot be started as user %s, who may be kept out of it or of the folder %s",
			c.Args[0], c.User, p.dir), "ls -ld "+p.dir+" "+p.path).(*runner.Error).Because(err)
	case errors.Is(err, syscall.E2BIG):
		return e.refuse(runner.BackendFailed, fmt.Sprintf("%s: its arguments and environment are longer than the kernel takes", c.Args[0]), "getconf ARG_MAX").(*runner.Error).Because(err)
	case errors.Is(err, syscall.ENOENT): // the interpreter of a script
		return e.refuse(runner.CommandNotFound, fmt.Sprintf("%s: its interpreter was not found", c.Args[0]), "head -1 "+p.path).(*runner.Error).Because(err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ETXTBSY):
		return e.judge(c.Args[0], err)
	default:
		return fmt.Errorf("start %s: %w", c.Args[0], err)
	}
}

func (e *engine) refuse(cause runner.Cause, reason, fix string) error {
	return (&runner.Error{Reason: reason, Cause: cause, Fix: fix}).At(e.scope)
}

// account makes the program another user's, which only root may.
func (e *engine) account(p *program, name string) error {
	if name == "" {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return e.refuse("UNKNOWN_USER", fmt.Sprintf("there is no user %q on this machine", name), "getent passwd")
		}
	}
	uid, gid := number(u.Uid), number(u.Gid)
	if int(uid) == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return e.refuse("USER_REFUSED", fmt.Sprintf("only root can run commands as user %s on the host backend", name), "boxer up --backend gvisor")
	}
	p.as = &syscall.Credential{Uid: uid, Gid: gid}
	ids, err := u.GroupIds()
	if err != nil {
		return fmt.Errorf("groups of user %s: %w", name, err)
	}
	for _, id := range ids {
		p.as.Groups = append(p.as.Groups, number(id))
	}
	p.env = withAccount(p.env, u)
	return nil
}

func number(id string) uint32 {
	n, _ := strconv.ParseUint(id, 10, 32) // digits on every unix
	return uint32(n)
}

// withAccount is env with the user's own HOME and names.
func withAccount(env []string, u *user.User) []string {
	out := []string{"HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}
	for _, v := range env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "HOME", "USER", "LOGNAME":
		default:
			out = append(out, v)
		}
	}
	return out
}

// valueOf is the variable's value; of several the last, as programs read it.
func valueOf(env []string, name string) string {
	value := ""
	for _, v := range env {
		if n, x, _ := strings.Cut(v, "="); n == name {
			value = x
		}
	}
	return value
}
