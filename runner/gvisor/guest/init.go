//go:build linux

package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// logDir holds the services' output inside the sandbox, where `boxer run -c 'cat ...'` can read it.
const logDir = "/tmp/boxer-services"

// server is init: it reaps what falls to it and starts what the helpers ask for.
type server struct {
	reaper *reap.Reaper

	mu       sync.Mutex
	services map[string]*reap.Proc
}

// serve is process 1 of a sandbox; binary is where it was started from. It never returns while its socket works.
func serve(binary string) int {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		fmt.Fprintln(os.Stderr, "boxer-init:", err)
		return 1
	}
	removeHidden(binary)
	go awaitIdentity(os.Stdin, os.Stdout)
	s := &server{reaper: reap.New(), services: map[string]*reap.Proc{}}
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			fmt.Fprintln(os.Stderr, "boxer-init:", err)
			return 1
		}
		go s.handle(c)
	}
}

// removeHidden deletes the empty files that cover hidden ones, in the sandbox's own copy of the root file system. The
// keeper left the list beside the binary. One that cannot be deleted is empty all the same.
func removeHidden(binary string) {
	list, err := os.ReadFile(filepath.Join(filepath.Dir(binary), "remove"))
	if err != nil {
		return
	}
	for _, path := range strings.Split(string(list), "\x00") {
		os.Remove(path)
	}
}

// handle serves one helper: its streams, its request, then signals until the command has ended.
func (s *server) handle(c *net.UnixConn) {
	defer c.Close()
	streams, err := receiveStreams(c)
	dec := json.NewDecoder(bufio.NewReader(c))
	var r Request
	if err == nil {
		err = dec.Decode(&r)
	}
	res := broken(err0(err))
	if err == nil {
		res = s.answer(r, streams, dec)
	}
	for _, f := range streams {
		f.Close()
	}
	json.NewEncoder(c).Encode(res) //nolint:errcheck // a helper that is gone needs no answer
}

func err0(err error) error {
	if err == nil {
		return errors.New("")
	}
	return err
}

func (s *server) answer(r Request, streams []*os.File, signals *json.Decoder) Result {
	switch {
	case r.Status != "":
		return s.status(r.Status)
	case r.Service != "":
		return s.startService(r)
	default:
		p, res := s.start(r, streams)
		if p == nil {
			return res
		}
		go relay(p, signals)
		status, err := p.Wait(context.Background())
		if err != nil {
			return broken(err)
		}
		return exitOf(status)
	}
}

// relay passes signal numbers on to the command's process group until the helper's connection ends.
func relay(p *reap.Proc, signals *json.Decoder) {
	for {
		var sig syscall.Signal
		if err := signals.Decode(&sig); err != nil {
			return
		}
		p.SignalGroup(sig) //nolint:errcheck // ended meanwhile
	}
}

// start starts a command as init's own child, in a session of its own, with the capabilities the request grants.
func (s *server) start(r Request, streams []*os.File) (*reap.Proc, Result) {
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		return nil, broken(fmt.Errorf("there is no folder %s to start it in", r.Dir))
	}
	path, res := lookup(r)
	if path == "" {
		return nil, res
	}
	attr := &syscall.ProcAttr{
		Env: r.Env,
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: r.UID, Gid: r.GID, Groups: r.Groups, NoSetGroups: r.UID == 0},
		},
	}
	for _, f := range streams {
		attr.Files = append(attr.Files, f.Fd())
	}
	// The folder is entered before the user changes: a service may run as somebody who could not reach the worktree.
	p, err := s.reaper.StartOn(func() error { return errors.Join(enter(r.Dir), dropBounding(r.Caps)) }, path, r.Args, attr)
	if err != nil {
		return nil, notStarted(err)
	}
	return p, Result{}
}

// notStarted reads the kernel's reason why a program did not start.
func notStarted(err error) Result {
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC):
		return Result{Failure: NotExecutable, Message: err.Error()}
	case errors.Is(err, syscall.ENOENT):
		return Result{Failure: NotFound, Message: err.Error()}
	}
	return broken(err)
}

// lookup finds the program as a shell would: through PATH of the request's environment, or from its folder.
func lookup(r Request) (string, Result) {
	name := r.Args[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		return name, Result{}
	}
	var denied bool
	for _, dir := range filepath.SplitList(pathOf(r.Env)) {
		p := filepath.Join(dir, name)
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.Dir, p)
		}
		info, err := os.Stat(p)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return p, Result{}
		}
		denied = true
	}
	if denied {
		return "", Result{Failure: NotExecutable, Message: name + ": " + os.ErrPermission.Error()}
	}
	return "", Result{Failure: NotFound, Message: fmt.Sprintf("%s: %v", name, exec.ErrNotFound)}
}

func pathOf(env []string) string {
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			return p
		}
	}
	return ""
}

func (s *server) startService(r Request) Result {
	log, err := openLog(r.Service)
	if err != nil {
		return broken(err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return broken(err)
	}
	defer null.Close()
	p, res := s.start(r, []*os.File{null, log, log})
	if p == nil {
		return res
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services[r.Service] = p
	return Result{}
}

func openLog(service string) (*os.File, error) {
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(logFile(service), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

func logFile(service string) string { return filepath.Join(logDir, service+".log") }

func (s *server) status(service string) Result {
	s.mu.Lock()
	p := s.services[service]
	s.mu.Unlock()
	if p == nil {
		return broken(fmt.Errorf("no service %s", service))
	}
	log, err := os.ReadFile(logFile(service))
	if err != nil {
		return broken(err)
	}
	var res Result
	select {
	case <-p.Done():
		status, _ := p.Wait(context.Background())
		res = exitOf(status)
		res.Ended = true
	default:
	}
	res.Log = runner.LastLines(log)
	return res
}

func exitOf(status syscall.WaitStatus) Result {
	if status.Signaled() {
		return Result{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Result{Code: status.ExitStatus()}
}

func receiveStreams(c *net.UnixConn) ([]*os.File, error) {
	one := make([]byte, 1)
	oob := make([]byte, syscall.CmsgSpace(3*4))
	_, n, _, _, err := c.ReadMsgUnix(one, oob)
	if err != nil {
		return nil, err
	}
	msgs, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("no streams received: %w", err)
	}
	fds, err := syscall.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		syscall.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), fmt.Sprintf("stream %d", i))
	}
	return files, nil
}
