//go:build linux

package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

func start(t *testing.T, c Config, scope runner.Scope, spec runner.Spec) ForkSession {
	t.Helper()
	s, err := c.Start(t.Context(), scope, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := c.Down(context.Background(), scope); err != nil { // a lasting child keeps it up
			t.Errorf("clean up: %v", err)
		}
	})
	return ForkSession{s}
}

// tell asks the fake for something.
func tell(t *testing.T, scope runner.Scope, what string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(scope.Worktree, what), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeze(t *testing.T, s ForkSession, o runner.ForkOptions) runner.Source {
	t.Helper()
	src, err := s.Freeze(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func fork(t *testing.T, src runner.Source) runner.Child {
	t.Helper()
	c, err := src.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func states(t *testing.T, s ForkSession) []string {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, sb := range all {
		out = append(out, strings.TrimPrefix(sb.Key, all[0].Key)+string(sb.State))
	}
	return out
}

func is(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAChildThatCannotBeMadeOrRemoved(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	tell(t, scope, "no-freeze")
	if _, err := s.Freeze(t.Context(), runner.ForkOptions{Lasting: true, Want: 3}); err == nil {
		t.Error("frozen")
	}
	src := freeze(t, s, runner.ForkOptions{Lasting: true, Want: 3}) // its turn was given back
	tell(t, scope, "no-fork")
	if _, err := src.Fork(t.Context()); err == nil || !strings.Contains(err.Error(), "no child today") {
		t.Error(err)
	}
	first, second := fork(t, src), fork(t, src) // the name was given back
	is(t, states(t, s), "running", "-f1running", "-f2running")

	tell(t, scope, "dead-3") // ids are never given twice: the second child is the third
	is(t, states(t, s), "running", "-f1running", "-f2dead")
	src.Release(t.Context())
	src = freeze(t, s, runner.ForkOptions{Lasting: true, Want: 3})
	if have := src.Have(); len(have) != 1 || have[0] != first {
		t.Errorf("a dead child counts: %v", have)
	}

	tell(t, scope, "stuck-2")
	if err := s.Remove(t.Context(), first.Key, second.Key); err != nil {
		t.Errorf("a second try should have done it: %v", err)
	}
	third := fork(t, src)
	if third.Index != 1 {
		t.Error(third)
	}
	is(t, states(t, s), "running", "-f1running")
}

func TestChildrenOfOneSourceAreMadeSideBySide(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	src := freeze(t, s, runner.ForkOptions{})
	tell(t, scope, "together") // a fork that is alone waits for ever
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	made := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := src.Fork(ctx)
			made <- err
		}()
	}
	for range 2 {
		if err := <-made; err != nil {
			t.Error(err)
		}
	}
}

func TestARemovalEndsAMaking(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	src := freeze(t, s, runner.ForkOptions{})
	for _, end := range []func() error{
		func() error { return s.Remove(t.Context(), scope.Child(1).Key) },
		func() error { return s.Close() },
	} {
		tell(t, scope, "slow")
		done := make(chan error, 1)
		go func() {
			_, err := src.Fork(t.Context())
			done <- err
		}()
		for len(states(t, s)) < 2 {
			time.Sleep(time.Millisecond)
		}
		is(t, states(t, s), "running", "-f1starting")
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := <-done; runner.CauseOf(err) != runner.Gone {
			t.Error(err)
		}
	}
	c.left(t)
}

func TestBusyNamesWhoAndSince(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{Worktree: runner.Private})
	exec := func() error {
		_, err := s.Exec(t.Context(), "", runner.Command{Args: []string{"true"}})
		return err
	}
	src := freeze(t, s, runner.ForkOptions{Worktree: runner.Live})
	fork(t, src)
	if err := exec(); err != nil {
		t.Errorf("live children keep commands out: %v", err)
	}
	src = freeze(t, s, runner.ForkOptions{Worktree: runner.Private})
	err := exec() // from the freeze on, for what is written now would show in children that are made later
	if runner.CauseOf(err) != runner.IsBusy {
		t.Fatal(err)
	}
	if !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), time.Now().Format("15:")) {
		t.Error(err)
	}
	child := fork(t, src)
	if err := src.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if runner.CauseOf(exec()) != runner.IsBusy {
		t.Error("not busy under a private child")
	}
	is(t, states(t, s), "busy", "-f1running", "-f2running")
	if err := s.Remove(t.Context(), child.Key); err != nil {
		t.Error(err)
	}
	if err := exec(); err != nil {
		t.Error(err)
	}
}

func TestADeadParentCannotBeForked(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	tell(t, scope, "dead-0")
	is(t, states(t, s), "dead")
	if _, err := s.Freeze(t.Context(), runner.ForkOptions{}); runner.CauseOf(err) != runner.NotForkable {
		t.Error(err)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	fork(t, freeze(t, s, runner.ForkOptions{}))
	all, err := s.Resources(t.Context())
	if err != nil || len(all) != 2 || all[0].Memory != 100 || all[1].Memory != 101 || all[1].Disk != 200 {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err = s.List(t.Context()); err != nil || all[0].Memory != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestABrokenStreamIsAnErrorAndNoHang(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	tell(t, scope, "no-tar")
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for range 2 { // a broken stream, and an engine that fails
		if got, err := s.Collect(t.Context(), "", runner.Pick{}, root); err == nil {
			t.Errorf("it brought %v", got)
		}
	}
}

func TestAKeeperThatPanicsTellsItsLastWords(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	_, err := s.Exec(t.Context(), "", runner.Command{Args: []string{"panic"}})
	e, ok := errors.AsType[*runner.Error](err)
	if !ok || e.Cause != runner.Gone || len(e.Output) == 0 {
		t.Errorf("%#v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.left(t)
}

func TestAnEngineThatHangsDoesNotKeepTheKeeper(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	tell(t, scope, "hang")
	if err := s.Down(t.Context()); err != nil {
		t.Error(err)
	}
	c.left(t)
}

func TestAFrozenKeeperIsKilledByDown(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	if s.Cleanup() != byKernel {
		t.Skip("no PID namespace here: run on a machine that lets you have one")
	}
	r, err := c.store().Get(scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.Owner.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(t.Context()); err != nil {
		t.Error(err)
	}
	c.left(t)
}

func TestAnotherBackendsSandboxIsNamed(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	start(t, c, scope, runner.Spec{})
	c.Kind = "refusing"
	if _, err := c.Start(t.Context(), scope, runner.Spec{}, nil); runner.CauseOf(err) != runner.ConfigChanged {
		t.Error(err)
	}
	if err := c.Down(t.Context(), scope); err != nil { // down takes any
		t.Error(err)
	}
	c.left(t)
}

// old stands in for the keeper of another boxer, which knows only what never changes.
func old(t *testing.T, c Config, scope runner.Scope) (downs <-chan bool) {
	t.Helper()
	if err := c.Dirs.Make(); err != nil {
		t.Fatal(err)
	}
	stand := exec.Command("sleep", "1000")
	if err := stand.Start(); err != nil {
		t.Fatal(err)
	}
	go stand.Wait()
	t.Cleanup(func() { stand.Process.Kill() })
	owner, err := identify(stand.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r := runner.Record{Scope: scope, Backend: c.Kind, Dir: filepath.Join(c.Dirs.Temp, "old"), Socket: filepath.Join(c.Dirs.Runtime, "old"), Owner: owner}
	if err := errors.Join(os.Mkdir(r.Dir, 0o700), c.store().Put(r)); err != nil {
		t.Fatal(err)
	}
	l, err := listen(r.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan bool, 10)
	go func() {
		for {
			u, err := l.AcceptUnix()
			if err != nil {
				return
			}
			conn := wire.New(u)
			conn.Receive()
			conn.Send(wire.KindHello, wire.Hello{Protocol: wire.Protocol + 1, Version: "v99"})
			if f, err := conn.Receive(); err == nil && f.Kind == wire.KindDown {
				stand.Process.Kill()
				got <- true
				conn.Send(wire.KindAnswer, map[string]string{"news": "of another protocol"})
			}
			conn.Close()
		}
	}()
	return got
}

func TestAKeeperOfAnotherVersionIsNamedAndCanBeTakenDown(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	downs := old(t, c, scope)
	for _, err := range []error{
		func() error { _, err := c.Attach(t.Context(), scope); return err }(),
		func() error { _, err := c.Start(t.Context(), scope, runner.Spec{}, nil); return err }(),
	} {
		e, ok := errors.AsType[*runner.Error](err)
		if !ok || e.Cause != runner.OtherVersion || e.Fix != "boxer down" || !strings.Contains(e.Reason, "v99") || e.Scope == "" {
			t.Errorf("%#v", err)
		}
	}
	if err := c.Down(t.Context(), scope); err != nil {
		t.Error(err)
	}
	if len(downs) != 1 {
		t.Errorf("it was told to end %d times", len(downs))
	}
	c.left(t)
}

func TestAnotherProtocolGetsNothingButDown(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	start(t, c, scope, runner.Spec{})
	say := func(kind wire.Kind, body any) (*wire.Frame, error) {
		r, err := c.store().Get(scope.Key)
		if err != nil {
			t.Fatal(err)
		}
		addr, release, err := unixAddr(r.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		u, err := net.DialUnix("unix", nil, addr)
		if err != nil {
			t.Fatal(err)
		}
		conn := wire.New(u)
		defer conn.Close()
		conn.Send(wire.KindHello, wire.Hello{Protocol: wire.Protocol + 1})
		if _, err := conn.Receive(); err != nil {
			t.Fatal(err)
		}
		conn.Send(kind, body)
		return conn.Receive()
	}
	if f, err := say(wire.KindRequest, request{Op: opLease}); err == nil {
		t.Errorf("it answered %v", f.Kind)
	}
	f, err := say(wire.KindDown, nil)
	if err != nil || f.Kind != wire.KindAnswer {
		t.Errorf("%v, %v", f, err)
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to be somebody else: run as root")
	}
	c, scope := newConfig(t)
	start(t, c, scope, runner.Spec{})
	r, err := c.store().Get(scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel tells who connected a socket's other end by the credentials of that moment.
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "pair")
	defer syscall.Close(fds[1])
	conn, err := wire.FromFile(f)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ours(conn.Unix()); err != nil {
		t.Errorf("we are refused ourselves: %v", err)
	}
	info, err := os.Stat(r.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	open(t, r.Socket)
	refused := make(chan error, 1)
	go asStranger(func() { refused <- knock(r.Socket) })
	if err := <-refused; err != nil {
		t.Error(err)
	}
}

// asStranger runs do on a thread of another user, which ends with it. The main thread could not.
func asStranger(do func()) {
	runtime.LockOSThread()
	if syscall.Gettid() == os.Getpid() {
		done := make(chan bool)
		go func() { defer close(done); asStranger(do) }()
		<-done
		runtime.UnlockOSThread()
		return
	}
	const uid = 12345
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		panic(errno)
	}
	do()
}

// knock connects and waits to be turned away.
func knock(socket string) error {
	addr, release, err := unixAddr(socket)
	if err != nil {
		return err
	}
	defer release()
	c, err := net.DialUnix("unix", nil, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	conn := wire.New(c)
	conn.Send(wire.KindHello, hello())
	if f, err := conn.Receive(); err == nil {
		return fmt.Errorf("a stranger was answered with kind %d", f.Kind)
	}
	return nil
}

// open lets everybody reach the file.
func open(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACallThatWaitsForItsTurnEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	c, scope := newConfig(t)
	s := start(t, c, scope, runner.Spec{})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		defer cancel(why)
		for os.Remove(filepath.Join(scope.Worktree, "waiting")) != nil {
			time.Sleep(time.Millisecond)
		}
	}()
	exit, err := s.Exec(ctx, "", runner.Command{Args: []string{"wait"}})
	if !errors.Is(err, why) || exit.Code != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
}
