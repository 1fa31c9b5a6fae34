//go:build linux

package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// process is what the client starts in a sandbox.
type process struct {
	file   string // "" looks argv[0] up in PATH of env
	argv   []string
	env    []string
	dir    string
	uid    uint32
	gid    uint32
	groups []uint32
	caps   []uintptr
	files  []*os.File
}

// request is a command as a guest program takes it: whose it is, where it starts, and what it may do.
func (e *engine) request(c runner.Command, caps []uintptr) (guest.Request, error) {
	u, err := e.user(c.User)
	if err != nil {
		return guest.Request{}, err
	}
	return guest.Request{
		Args: c.Args, Dir: e.dirOf(c), Env: u.environment(c.Env), UID: u.uid, GID: u.gid, Groups: u.groups, Caps: caps,
	}, nil
}

// execParent runs a command through init, so that what it leaves running is in every child.
func (e *engine) execParent(ctx context.Context, s *sandbox, c runner.Command, caps []uintptr) (runner.Exit, error) {
	req, err := e.request(c, caps)
	if err != nil {
		return runner.Exit{}, err
	}
	streams, err := openStreams(c)
	if err != nil {
		return runner.Exit{}, err
	}
	defer streams.finish()
	res, err := e.ask(ctx, s, req, streams.files[:], c)
	if err != nil {
		return exitOf(res), err
	}
	return exitOf(res), e.failure(res.Failure, res.Message, c)
}

// ask execs a helper that hands the streams and the request to init, and waits for init's answer. Signals of c and
// the end of ctx go the same way.
func (e *engine) ask(ctx context.Context, s *sandbox, req guest.Request, streams []*os.File, c runner.Command) (guest.Result, error) {
	var res guest.Result
	h, err := e.startHelper(s, guest.Run(e.mounts.guest()), streams, nil)
	if err != nil {
		return res, err
	}
	defer h.close()
	enc := json.NewEncoder(h.request)
	if err := enc.Encode(req); err != nil {
		return res, fmt.Errorf("send request: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- h.read(&res) }()
	err = supervise(ctx, done, c, func(sig syscall.Signal) error { return enc.Encode(sig) })
	return res, err
}

// helper is a guest program under way.
type helper struct {
	request *os.File // its fd 3
	result  *os.File // its fd 4
	pid     int32
	wait    func() error
}

// startHelper starts a guest program with the given streams as fds 0 to 2.
func (e *engine) startHelper(s *sandbox, argv []string, streams []*os.File, caps []uintptr) (*helper, error) {
	reqR, reqW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reqR.Close()
	resR, resW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, reqW.Close())
	}
	defer resW.Close()
	pid, _, err := s.client.start(process{
		file: e.mounts.guest(), argv: argv, dir: "/", caps: caps, files: append(append([]*os.File{}, streams...), reqR, resW),
	})
	if err != nil {
		err = fmt.Errorf("start a helper in the sandbox: %w", err)
		return nil, errors.Join(err, reqW.Close(), resR.Close())
	}
	return &helper{reqW, resR, pid, func() error { _, err := s.client.wait(pid); return err }}, nil
}

// call runs a guest program that takes one document and answers with one; nil stdout is /dev/null.
func (e *engine) call(ctx context.Context, s *sandbox, argv []string, stdout *os.File, caps []uintptr, request, result any) error {
	streams, err := openStreams(runner.Command{Stdout: stdout})
	if err != nil {
		return err
	}
	defer streams.finish()
	h, err := e.startHelper(s, argv, streams.files[:], caps)
	if err != nil {
		return err
	}
	defer h.close()
	if err := json.NewEncoder(h.request).Encode(request); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- h.read(result) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		h.result.Close()
		<-done
		return context.Cause(ctx)
	}
}

// read decodes the helper's one answer; a helper that ends without one died with its sandbox.
func (h *helper) read(into any) error {
	if err := json.NewDecoder(h.result).Decode(into); err != nil {
		return gone(err)
	}
	return h.wait()
}

func (h *helper) close() {
	h.request.Close()
	h.result.Close()
}

func gone(err error) error {
	return (&runner.Error{Reason: "the sandbox ended while a command ran in it", Cause: runner.Gone}).Because(err)
}

// execChild runs a command in a child, directly.
func (e *engine) execChild(ctx context.Context, s *sandbox, c runner.Command, caps []uintptr) (runner.Exit, error) {
	req, err := e.request(c, caps)
	if err != nil {
		return runner.Exit{}, err
	}
	streams, err := openStreams(c)
	if err != nil {
		return runner.Exit{}, err
	}
	defer streams.finish()
	var pid int32
	if c.User == "" {
		pid, err = e.startDirect(s, req, streams.files[:], c)
	} else {
		pid, err = e.startAs(s, req, streams.files[:], c)
	}
	if err != nil {
		return runner.Exit{}, err
	}
	streams.started()
	return e.follow(ctx, s, pid, c)
}

func (e *engine) startDirect(s *sandbox, r guest.Request, files []*os.File, c runner.Command) (int32, error) {
	pid, failure, err := s.client.start(process{
		argv: r.Args, env: r.Env, dir: r.Dir, uid: r.UID, gid: r.GID, groups: r.Groups, caps: r.Caps, files: files,
	})
	if err == nil {
		return pid, nil
	}
	if failure == guest.NotExecutable && !inPath(c) {
		failure = guest.NotFound // gVisor says so of a PATH with folders that may not be entered, too
	}
	return 0, e.failure(failure, err.Error(), c)
}

// startAs starts a command as another user, who may have no way to the folder it starts in: a guest program goes
// there first, becomes that user, and executes the command in its own place.
func (e *engine) startAs(s *sandbox, r guest.Request, files []*os.File, c runner.Command) (int32, error) {
	h, err := e.startHelper(s, guest.As(e.mounts.guest()), files, append(slices.Clip(r.Caps), toBecome...))
	if err != nil {
		return 0, err
	}
	defer h.close()
	if err := json.NewEncoder(h.request).Encode(r); err != nil {
		return 0, err
	}
	var res guest.Result
	if err := json.NewDecoder(h.result).Decode(&res); errors.Is(err, io.EOF) {
		return h.pid, nil // its end of the pipe closed as the command began
	} else if err != nil {
		return 0, err
	}
	return 0, errors.Join(e.failure(res.Failure, res.Message, c), h.wait())
}

// follow waits for a process in a child.
func (e *engine) follow(ctx context.Context, s *sandbox, pid int32, c runner.Command) (runner.Exit, error) {
	var status syscall.WaitStatus
	done := make(chan error, 1)
	go func() {
		var err error
		status, err = s.client.wait(pid)
		done <- err
	}()
	err := supervise(ctx, done, c, func(sig syscall.Signal) error { return s.client.signalGroup(sig, pid) })
	if err != nil && ctx.Err() == nil {
		return runner.Exit{}, gone(err)
	}
	if status.Signaled() {
		return runner.Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}, err
	}
	return runner.Exit{Code: status.ExitStatus()}, err
}

// inPath tells whether there is a file at the program's path, or of its name in a folder of PATH.
func inPath(c runner.Command) bool {
	if strings.Contains(c.Args[0], "/") {
		return true
	}
	for _, dir := range filepath.SplitList(valueOf(c.Env, "PATH")) {
		if info, err := os.Stat(filepath.Join(dir, c.Args[0])); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// supervise waits for done. It passes c's signals on, and when ctx ends it ends the command: SIGTERM, after the grace
// SIGKILL; the error is then the cause of ctx's end.
func supervise(ctx context.Context, done <-chan error, c runner.Command, send func(syscall.Signal) error) error {
	grace := c.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	for {
		select {
		case err := <-done:
			return err
		case sig, open := <-c.Signals:
			if !open {
				c.Signals = nil
			} else if s, ok := sig.(syscall.Signal); ok {
				send(s) //nolint:errcheck // the command may have ended meanwhile
			}
		case <-ctx.Done():
			if grace < 0 {
				send(syscall.SIGKILL) //nolint:errcheck // same
				<-done
				return context.Cause(ctx)
			}
			send(syscall.SIGTERM) //nolint:errcheck // same
			send(syscall.SIGCONT) //nolint:errcheck // a stopped command could not end
			select {
			case <-done:
			case <-time.After(grace):
				send(syscall.SIGKILL) //nolint:errcheck // same
				<-done
			}
			return context.Cause(ctx)
		}
	}
}

func exitOf(r guest.Result) runner.Exit { return runner.Exit{Code: r.Code, Signal: r.Signal} }

// failure turns the reason why a command did not start into an error that says what to do; nil for "".
func (e *engine) failure(f guest.Failure, message string, c runner.Command) error {
	err := &runner.Error{Scope: e.scope.String(), Worktree: e.scope.Worktree}
	switch f {
	case "":
		return nil
	case guest.NotFound:
		err.Cause = runner.CommandNotFound
		err.Reason = fmt.Sprintf("%s: command not found in the sandbox (PATH is the one boxer was called with)", c.Args[0])
		err.Fix = "command -v " + c.Args[0]
	case guest.NotExecutable:
		err.Cause = runner.CommandNotExecutable
		err.Reason = fmt.Sprintf("%s: not executable in the sandbox", c.Args[0])
		err.Fix = "ls -l " + c.Args[0]
	default:
		err.Cause = runner.BackendFailed
		err.Reason = fmt.Sprintf("start %s: %s", c.Args[0], strings.TrimSpace(message))
	}
	return err
}

func (e *engine) dirOf(c runner.Command) string {
	if c.Dir != "" {
		return c.Dir
	}
	return e.scope.Worktree
}

// streams are a command's fds 0 to 2 as a sandbox can use them: gVisor takes pipes, sockets, terminals and devices
// as they are; a regular file is pumped through a pipe.
type streams struct {
	files [3]*os.File
	close []*os.File      // after the start, when the sandbox has its own
	pumps []chan struct{} // closed when a pump has come to its end
	stop  []*os.File      // what ends the pumps
}

// pumpGrace is how long output still flows after the command's end: a process that it left behind may hold the pipe.
const pumpGrace = time.Second

func openStreams(c runner.Command) (*streams, error) {
	s := &streams{}
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		var err error
		switch {
		case f == nil:
			s.files[i], err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
			s.close = append(s.close, s.files[i])
		case !regular(f):
			s.files[i] = f
		case i == 0:
			err = s.pumpIn(f)
		case i == 2 && sameFile(f, c.Stdout):
			s.files[2] = s.files[1] // one pump, or the order of the two would be lost
		default:
			err = s.pumpOut(i, f)
		}
		if err != nil {
			s.finish()
			return nil, err
		}
	}
	return s, nil
}

func regular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

func sameFile(a, b *os.File) bool {
	if b == nil {
		return false
	}
	ai, aerr := a.Stat()
	bi, berr := b.Stat()
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

func (s *streams) pumpIn(f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.files[0] = r
	s.close = append(s.close, r)
	go func() {
		io.Copy(w, f) //nolint:errcheck // EPIPE: the command reads no further
		w.Close()
	}()
	return nil
}

func (s *streams) pumpOut(i int, f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	s.files[i] = w
	s.close = append(s.close, w)
	s.stop = append(s.stop, r)
	s.pumps = append(s.pumps, done)
	go func() {
		defer close(done)
		io.Copy(f, r) //nolint:errcheck // a full disk shows to the command as a closed pipe
		r.Close()
	}()
	return nil
}

// started gives up our copies of what the sandbox now has.
func (s *streams) started() {
	for _, f := range s.close {
		f.Close()
	}
	s.close = nil
}

// finish lets the output pumps come to their end, within the grace.
func (s *streams) finish() {
	s.started()
	for i, done := range s.pumps {
		s.stop[i].SetReadDeadline(time.Now().Add(pumpGrace)) //nolint:errcheck // pipes have deadlines
		<-done
	}
}

var errNoSandbox = errors.New("no such sandbox")
