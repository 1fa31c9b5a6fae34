package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

func itoa(n int) string { return strconv.Itoa(n) }

var execQuestions = []question{
	{"streams pass byte for byte", askStreams},
	{"ten megabytes go in through a pipe and a file", askBig},
	{"exit codes are the command's own", askExit},
	{"a command that cannot start is 127 or 126", askNoStart},
	{"signals reach the process group", askSignals},
	{"the end of the context terms and then kills", askContext},
	{"a command starts in its folder", askFolder},
	{"the environment is exactly what was given", askEnvironment},
	{"streams that are not given are the null device", askNull},
	{"long arguments pass", askLong},
	{"what a command leaves running does not hold it up", askBackground},
	{"commands run side by side", askSideBySide},
	{"a reader that goes away ends its writer", askClosed},
	{"a command runs as another user", askUser},
	{"an unknown name is refused", askUnknown},
}

// noise is n bytes that no encoding survives.
func noise(n int) []byte {
	src := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	src.Read(b)
	return b
}

func (b *bench) stdin(data []byte) *os.File {
	b.Helper()
	r, w, err := os.Pipe()
	b.ok(err)
	b.Cleanup(func() { r.Close() })
	go func() {
		w.Write(data)
		w.Close()
	}()
	return r
}

func askStreams(b *bench) {
	s := b.start(nil)
	data := noise(1 << 20)
	c := shell(`cat; printf 'e\000\377' >&2`)
	c.Stdin = b.stdin(data)
	r, err := b.run(s, "", c)
	b.ok(err)
	if r.out != string(data) {
		b.Errorf("%d bytes came back of %d, or others", len(r.out), len(data))
	}
	equal(b, "stderr", r.err, "e\000\377")
}

func askBig(b *bench) {
	s := b.start(nil)
	data := noise(10 << 20)
	b.ok(os.WriteFile(b.path("in"), data, 0o644))
	file, err := os.Open(b.path("in"))
	b.ok(err)
	defer file.Close()
	for _, in := range []*os.File{b.stdin(data), file} {
		out, err := os.Create(filepath.Join(b.TempDir(), "out"))
		b.ok(err)
		_, err = b.run(s, "", runner.Command{Args: []string{"cat"}, Stdin: in, Stdout: out})
		b.ok(err)
		got, err := os.ReadFile(out.Name())
		b.ok(err)
		out.Close()
		if !bytes.Equal(got, data) {
			b.Errorf("%s: %d bytes came back of %d, or others", in.Name(), len(got), len(data))
		}
	}
}

func askExit(b *bench) {
	s := b.start(nil)
	for _, code := range []int{0, 1, 2, 77, 125, 126, 127, 255} {
		r, err := b.run(s, "", shell("exit "+itoa(code)))
		b.ok(err)
		equal(b, "exit", r.exit, runner.Exit{Code: code})
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		r, err := b.run(s, "", shell(fmt.Sprintf("kill -%d $$; sleep 60", sig)))
		b.ok(err)
		equal(b, "exit", r.exit, runner.Exit{Code: 128 + int(sig), Signal: sig})
	}
}

func askNoStart(b *bench) {
	b.write("plain", "no program")
	b.ok(os.Mkdir(b.path("folder"), 0o755))
	b.write("bin/tool", "no program either")
	s := b.start(nil)
	for name, cause := range map[string]runner.Cause{
		"no-such-program-anywhere": runner.CommandNotFound,
		"./none":                   runner.CommandNotFound,
		"/no/such/folder/program":  runner.CommandNotFound,
		b.path("plain"):            runner.CommandNotExecutable,
		"./plain":                  runner.CommandNotExecutable,
		"./folder":                 runner.CommandNotExecutable,
	} {
		_, err := b.run(s, "", runner.Command{Args: []string{name}})
		if runner.CauseOf(err) != cause {
			b.Errorf("%s: %v, want %s", name, err, cause)
		}
	}
	b.ok(os.Chmod(b.path("bin/tool"), 0o755))
	b.ok(os.WriteFile(b.path("bin/tool"), []byte("#!/bin/sh\necho found $0\n"), 0o755))
	r, err := b.run(s, "", runner.Command{Args: []string{"tool"}, Env: append(env(), "PATH="+b.path("bin")+":/bin:/usr/bin")})
	b.ok(err)
	equal(b, "looked up in PATH", strings.TrimSpace(r.out), "found "+b.path("bin/tool"))
	r, err = b.run(s, "", runner.Command{Args: []string{"./tool"}, Dir: b.path("bin")})
	b.ok(err)
	equal(b, "looked up in the folder", strings.HasPrefix(r.out, "found"), true)
}

func askSignals(b *bench) {
	s := b.start(nil)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		h := b.held()
		signals := make(chan os.Signal, 1)
		c := shell(fmt.Sprintf(`trap 'exit %d' %d; echo ready; while :; do sleep 0.02; done`, 10+int(sig), sig))
		c.Stdout, c.Signals = h.w, signals
		done := make(chan runner.Exit, 1)
		go func() {
			r, err := b.run(s, "", c)
			if err != nil {
				b.Error(err)
			}
			done <- r.exit
		}()
		h.line(b, "ready")
		signals <- sig
		equal(b, sig.String(), <-done, runner.Exit{Code: 10 + int(sig)})
	}
	h := b.held() // a foreground child of the shell gets it too
	signals := make(chan os.Signal, 1)
	c := shell("echo ready; sleep 1000; echo not interrupted")
	c.Stdout, c.Signals = h.w, signals
	go func() { h.line(b, "ready"); signals <- syscall.SIGTERM; close(signals) }()
	r, err := b.run(s, "", c)
	b.ok(err)
	equal(b, "signal", r.exit.Signal, syscall.SIGTERM)
}

func askContext(b *bench) {
	s := b.start(nil)
	why := errors.New("enough of it")
	cancelled := func(line string, grace time.Duration) (runner.Exit, error) {
		ctx, cancel := context.WithCancelCause(b.ctx())
		h := b.held()
		c := shell(line)
		c.Stdout, c.Grace = h.w, grace
		go func() { h.line(b, "ready"); cancel(why) }()
		r, err := b.runIn(ctx, s, "", c)
		return r.exit, err
	}
	exit, err := cancelled(`trap 'sleep 0.1; exit 3' TERM; echo ready; while :; do sleep 0.02; done`, patience)
	if !errors.Is(err, why) {
		b.Errorf("the error is %v", err)
	}
	equal(b, "exit of one that obeys", exit, runner.Exit{Code: 3})

	exit, err = cancelled(`trap '' TERM; echo ready; while :; do sleep 0.02; done`, 50*time.Millisecond)
	if !errors.Is(err, why) {
		b.Errorf("the error is %v", err)
	}
	equal(b, "exit of one that does not", exit, runner.Exit{Code: 137, Signal: syscall.SIGKILL})

	if _, err = cancelled(`trap 'echo asked >asked; exit' TERM; echo ready; while :; do sleep 0.02; done`, -1); !errors.Is(err, why) {
		b.Errorf("the error is %v", err)
	}
	equal(b, "asked although there is no grace", b.sh(s, "", "cat asked 2>/dev/null || echo no"), "no")

	ctx, cancel := context.WithTimeout(b.ctx(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.runIn(ctx, s, "", shell("sleep 1000")); !errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("at a time limit: %v", err)
	}
	equal(b, "afterwards", b.sh(s, "", "echo fine"), "fine")
}

func askFolder(b *bench) {
	b.ok(os.MkdirAll(b.path("a/b c"), 0o755))
	s := b.start(nil)
	equal(b, "default", b.sh(s, "", "pwd -P"), b.Scope.Worktree)
	c := shell("pwd -P")
	c.Dir = b.path("a/b c")
	r, err := b.run(s, "", c)
	b.ok(err)
	equal(b, "given", r.out, c.Dir+"\n")
	c.Dir = b.path("none")
	if r, err := b.run(s, "", c); err == nil && r.exit.Code == 0 {
		b.Error("a command started in a folder that is not there")
	}
}

func askEnvironment(b *bench) {
	s := b.start(nil)
	want := []string{"PATH=/usr/bin:/bin", "EMPTY=", "A=b=c", "LINES=one\ntwo", "BYTES=\xff\xfe", "ODD NAME=x"}
	r, err := b.run(s, "", runner.Command{Args: []string{"env", "-0"}, Env: want})
	b.ok(err)
	got := strings.Split(strings.TrimSuffix(r.out, "\x00"), "\x00")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.Errorf("%q, want %q", got, want)
	}
}

func askNull(b *bench) {
	s := b.start(nil)
	c := shell("cat; echo lost; echo lost >&2")
	c.Env = env()
	exit, err := s.Exec(b.ctx(), "", c)
	b.ok(err)
	equal(b, "exit", exit, runner.Exit{})
}

func askLong(b *bench) {
	s := b.start(nil)
	args := []string{"/bin/sh", "-c", `echo $# ${#1}`, "sh"}
	for range 10 {
		args = append(args, strings.Repeat("x", 100<<10))
	}
	r, err := b.run(s, "", runner.Command{Args: args})
	b.ok(err)
	equal(b, "number and length", r.out, "10 102400\n")
}

func askBackground(b *bench) {
	s := b.start(nil)
	h := b.held()
	c := shell(`sleep 1000 >/dev/null 2>&1 & echo started >&2`)
	c.Stderr = h.w
	if _, err := b.run(s, "", c); err != nil {
		b.Error(err)
	}
	h.line(b, "started")
}

func askSideBySide(b *bench) {
	s := b.start(nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := b.run(s, "", shell(fmt.Sprintf("echo %d; exit %d", i, i)))
			if err != nil || r.out != itoa(i)+"\n" || r.exit.Code != i {
				b.Errorf("command %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
}

func askClosed(b *bench) {
	s := b.start(nil)
	h := b.held()
	done := make(chan error, 1)
	go func() {
		r, err := b.run(s, "", runner.Command{Args: []string{"yes"}, Stdout: h.w})
		if r.exit.Code == 0 {
			err = errors.Join(err, errors.New("it succeeded"))
		}
		done <- err
	}()
	h.line(b, "y")
	h.w.Close()
	h.r.Close()
	b.ok(<-done)
}

func askUser(b *bench) {
	s := b.start(nil)
	c := shell("id -un; echo $USER")
	c.Dir = "/" // the worktree may be closed to others
	c.User = "no-such-user-at-all"
	if _, err := b.run(s, "", c); err == nil {
		b.Error("a user that is not there was accepted")
	}
	if b.User == "" {
		b.Log("no other user can be had here: not asked")
		return
	}
	c.User = b.User
	r, err := b.run(s, "", c)
	b.ok(err)
	equal(b, "who it is", r.out, b.User+"\n"+b.User+"\n")
}

func askUnknown(b *bench) {
	s := b.start(nil)
	for _, name := range []string{"nobody", b.Scope.Key + "-f1", b.Scope.Slug + "-f99", "sb-000000000000", "sb-000000000000-f1"} {
		_, err := b.run(s, name, shell("echo never"))
		b.refused(err, runner.UnknownScope)
		b.refused(s.Clear(b.ctx(), name, runner.Pick{Base: b.Scope.Worktree, Patterns: []string{"*"}}), runner.UnknownScope)
	}
	for _, name := range []string{"", b.Scope.Key, b.Scope.Slug} {
		equal(b, "the parent by name", b.sh(s, name, "echo yes"), "yes")
	}
}
