// Package conformance asks a backend every question that the contract in package runner answers. The tests of each
// backend put theirs through it; nothing else may import it.
//
// It owns no fakes: the backend under test runs real commands of the machine, and what it leaves is looked for in
// boxer's folders and, by pipes that only a living process can hold open, among the living.
//
// The choice a reader would question: what a backend cannot do is found as boxer finds it, by type assertion, and
// those questions are then not asked. Which ones is logged, so that a backend which lost a method by accident shows.
package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Harness is one backend with a scope of its own for one question.
type Harness struct {
	Backend runner.Backend
	Dirs    runner.Dirs  // the backend's folders, used by nobody else; they are looked at for what is left
	Scope   runner.Scope // a fresh folder of the caller's
	User    string       // an account other than the caller's that commands can run as; "" where there is none

	Relayed bool              // output is copied on its way out: a pipe does not tell who lives inside
	Branded bool              // children have the kind of worktree that their parent was started with, and no other
	Differs map[string]string // names of questions that have another answer here, with the reason
}

// question is one thing asked of a backend.
type question struct {
	name string
	ask  func(*bench)
}

// Run asks all questions, each in a parallel subtest with a harness of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	lists := map[string][]question{"exec": execQuestions, "prepare": prepareQuestions, "life": lifeQuestions, "files": fileQuestions}
	can := abilities(t, open(t))
	switch {
	case can.fork:
		lists["child"], lists["fork"] = childQuestions, forkQuestions
	case can.share:
		lists["child"], lists["share"] = childQuestions, shareQuestions
		t.Log("the backend is no Forker: the questions about forks are not asked")
	default:
		t.Log("the backend is neither a Forker nor a Sharer: the questions about children are not asked")
	}
	if can.pack {
		lists["pack"] = packQuestions
	} else {
		t.Log("the backend cannot pack: the questions about packs are not asked")
	}
	for list, questions := range lists {
		for _, q := range questions {
			t.Run(list+"/"+strings.ReplaceAll(q.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				h := open(t)
				if why := h.Differs[q.name]; why != "" {
					t.Skip("has another answer here: " + why)
				}
				q.ask(&bench{T: t, Harness: h})
			})
		}
	}
}

type ability struct{ fork, share, pack bool }

func abilities(t *testing.T, h Harness) ability {
	b := &bench{T: t, Harness: h}
	s := b.start(nil)
	defer b.close(s)
	_, fork := s.(runner.Forker)
	_, share := s.(runner.Sharer)
	_, packs := s.(runner.Packer)
	_, unpacks := h.Backend.(runner.Unpacker)
	return ability{fork, share, packs && unpacks}
}

// bench is where one question is asked.
type bench struct {
	*testing.T
	Harness
}

const patience = 60 * time.Second

// ctx bounds what the test waits for.
func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	b.Cleanup(cancel)
	return ctx
}

// env is what commands get.
func env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C"}
}

func (b *bench) spec(change func(*runner.Spec)) runner.Spec {
	spec := runner.Spec{Worktree: runner.Live, Dir: b.Scope.Worktree, Env: env()}
	if change != nil {
		change(&spec)
	}
	return spec
}

// start starts the sandbox, or attaches to it, and takes it down at the end of the test.
func (b *bench) start(change func(*runner.Spec)) runner.Session {
	b.Helper()
	s, err := b.Backend.Start(b.ctx(), b.Scope, b.spec(change), nil)
	b.ok(err)
	b.Cleanup(func() { s.Close(); b.down() })
	return s
}

// down ends the sandbox if it runs.
func (b *bench) down() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := b.Backend.Attach(ctx, b.Scope)
	if runner.CauseOf(err) == runner.NotRunning {
		return
	}
	if err == nil {
		err = errors.Join(s.Down(ctx), s.Close())
	}
	if err != nil {
		b.Errorf("clean up: %v", err)
	}
}

func (b *bench) attach() runner.Session {
	b.Helper()
	s, err := b.Backend.Attach(b.ctx(), b.Scope)
	b.ok(err)
	b.Cleanup(func() { s.Close() })
	return s
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) close(s runner.Session) {
	b.Helper()
	b.ok(s.Close())
}

// refused checks an error's cause.
func (b *bench) refused(err error, cause runner.Cause) {
	b.Helper()
	if runner.CauseOf(err) != cause {
		b.Errorf("the cause is %q and should be %q: %v", runner.CauseOf(err), cause, err)
	}
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Fix == "" && cause != runner.SetupFailed {
		b.Errorf("no fix in %#v", e)
	}
}

// eventually waits for what happens by itself.
func (b *bench) eventually(what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("never: %s", what)
		}
	}
}

// result is all of a command.
type result struct {
	out, err string
	exit     runner.Exit
}

// run runs a command with its output in pipes. A command that leaves a process behind must not leave it the pipes.
func (b *bench) run(s runner.Session, name string, c runner.Command) (result, error) {
	b.Helper()
	return b.runIn(b.ctx(), s, name, c)
}

func (b *bench) runIn(ctx context.Context, s runner.Session, name string, c runner.Command) (result, error) {
	b.Helper()
	out, err := newCapture()
	b.ok(err)
	errs, err := newCapture()
	b.ok(err)
	if c.Env == nil {
		c.Env = env()
	}
	if c.Stdout == nil {
		c.Stdout = out.w
	}
	if c.Stderr == nil {
		c.Stderr = errs.w
	}
	exit, err := s.Exec(ctx, name, c)
	return result{out.finish(), errs.finish(), exit}, err
}

// capture reads a pipe to its end.
type capture struct {
	r, w *os.File
	b    bytes.Buffer
	done chan struct{}
}

func newCapture() (*capture, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &capture{r: r, w: w, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		io.Copy(&c.b, r)
	}()
	return c, nil
}

func (c *capture) finish() string {
	c.w.Close()
	<-c.done
	c.r.Close()
	return c.b.String()
}

// sh runs a shell line that must succeed and returns its output without the last newline.
func (b *bench) sh(s runner.Session, name, line string) string {
	b.Helper()
	r, err := b.run(s, name, shell(line))
	if err != nil || r.exit.Code != 0 {
		b.Fatalf("%s: %+v, %v", line, r, err)
	}
	return strings.TrimSuffix(r.out, "\n")
}

func shell(line string) runner.Command { return runner.Command{Args: []string{"/bin/sh", "-c", line}} }

// equal compares.
func equal[T comparable](b *bench, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Errorf("%s: %v, want %v", what, got, want)
	}
}

// held is a pipe whose writing end a sandbox's process gets: its end of file says that no such process lives any more.
type held struct {
	r, w    *os.File
	relayed bool
}

func (b *bench) held() *held {
	b.Helper()
	r, w, err := os.Pipe()
	b.ok(err)
	b.Cleanup(func() { r.Close(); w.Close() })
	return &held{r, w, b.Relayed}
}

// line waits for a line that a process writes.
func (h *held) line(b *bench, want string) {
	b.Helper()
	var got []byte
	one := make([]byte, 1)
	h.r.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, err := h.r.Read(one); err != nil {
			b.Fatalf("%q and then %v; want the line %q", got, err, want)
		}
		if one[0] == '\n' {
			break
		}
		got = append(got, one[0])
	}
	equal(b, "line", string(got), want)
}

// gone waits until no process holds the pipe any more.
func (h *held) gone(b *bench) {
	b.Helper()
	h.w.Close()
	h.r.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, h.r); err != nil {
		b.Fatalf("a process of the sandbox lives on: %v", err)
	}
}

// lives fails if no process holds the pipe any more.
func (h *held) lives(b *bench) {
	b.Helper()
	h.w.Close()
	if h.relayed {
		return
	}
	h.r.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := io.Copy(io.Discard, h.r); !errors.Is(err, os.ErrDeadlineExceeded) {
		b.Errorf("no process of the sandbox lives any more: %v", err)
	}
}

// nothing checks that no file of the scope is left in boxer's folders, and that the keeper of the record is gone.
func (b *bench) nothing(owner runner.Process) {
	b.Helper()
	for _, dir := range []string{b.Dirs.Temp, b.Dirs.Runtime, filepath.Join(b.Dirs.State, "scopes")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.Error(err)
		}
		for _, e := range entries {
			b.Errorf("%s is left in %s", e.Name(), dir)
		}
	}
	if owner.PID == os.Getpid() {
		return // a backend without keepers
	}
	if owner.PID != 0 && syscall.Kill(owner.PID, 0) == nil {
		if stat, err := os.ReadFile("/proc/" + itoa(owner.PID) + "/stat"); err == nil && !over(string(stat)) {
			b.Errorf("the keeper lives on as process %d: %s", owner.PID, stat)
		}
	}
}

// owner is the keeper's process as the record names it; zero for a backend without records.
func (b *bench) owner() runner.Process {
	r, err := runner.Store{Dir: b.Dirs.State}.Get(b.Scope.Key)
	if err != nil {
		return runner.Process{}
	}
	return r.Owner
}

func (b *bench) path(name string) string { return filepath.Join(b.Scope.Worktree, name) }

func (b *bench) write(name, text string) {
	b.Helper()
	b.ok(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.ok(os.WriteFile(b.path(name), []byte(text), 0o644))
}

// over tells from a process's stat whether it has ended and is only not taken out of the table yet.
func over(stat string) bool { return strings.Contains(stat, ") Z ") || strings.Contains(stat, ") X ") }
