package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/host"
	"github.com/boxer-ci/boxer/runner/keeper"
)

// clientName is argv[0] of a process of its own that is a client, to be killed.
const clientName = "boxer-test-client"

// wish tells such a client what to do, in argv[1].
type wish struct {
	Base  string // of its place
	Rung  keeper.Rung
	Setup string // a line
	Keep  bool
	Stay  string // what runs at last, in a child
}

// client starts a sandbox, makes two children, leaves a daemon in each place that holds its standard error, and
// runs a command in the first child. It says on standard output where it is.
func client(args []string) int {
	if err := live(args[0]); err != nil {
		fmt.Println("failed:", runner.CauseOf(err), err)
		return 1
	}
	return 0
}

func live(arg string) error {
	var w wish
	if err := json.Unmarshal([]byte(arg), &w); err != nil {
		return err
	}
	scope, err := runner.ScopeOf(filepath.Join(w.Base, "work"))
	if err != nil {
		return err
	}
	spec := runner.Spec{Dir: scope.Worktree, Env: env()}
	if w.Setup != "" {
		spec.Setup = []runner.SetupStep{{Run: w.Setup}}
	}
	ctx := context.Background()
	s, err := host.New(dirsIn(w.Base)).From(w.Rung).Start(ctx, scope, spec, nil)
	if err != nil {
		return err
	}
	fmt.Println("started")
	if w.Keep {
		if err := s.Keep(ctx); err != nil {
			return err
		}
	}
	src, err := s.(runner.Sharer).Share(ctx)
	if err != nil {
		return err
	}
	daemon := "setsid sh -c 'exec sleep 1000' </dev/null >/dev/null & setsid setsid sleep 1000 </dev/null >/dev/null &"
	if !w.Keep { // one that nothing ties to its child any more goes with the keeper
		daemon += " env -i setsid sleep 1000 </dev/null >/dev/null &"
	}
	names := []string{""}
	for range 2 {
		c, err := src.Fork(ctx)
		if err != nil {
			return err
		}
		names = append(names, c.Key)
	}
	for _, name := range names {
		if w.Keep && name == "" {
			continue // what runs in a kept parent stays
		}
		if _, err := s.Exec(ctx, name, command(daemon)); err != nil {
			return err
		}
	}
	fmt.Println("running")
	_, err = s.Exec(ctx, names[1], command(w.Stay))
	return err
}

func command(line string) runner.Command {
	return runner.Command{Args: []string{"/bin/sh", "-c", line}, Env: env(), Stderr: os.Stderr}
}

// victim is a client under way.
type victim struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	held  *os.File // its end of file says that no process with the client's standard error lives
}

func newVictim(t *testing.T, w wish) *victim {
	t.Helper()
	arg, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{clientName, string(arg)}, Stderr: held, Env: os.Environ()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	v := &victim{cmd, bufio.NewReader(out), r}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); r.Close() })
	return v
}

func (v *victim) says(t *testing.T, want string) {
	t.Helper()
	for {
		line, err := v.lines.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "failed") {
			v.held.SetReadDeadline(time.Now().Add(time.Second))
			all, _ := io.ReadAll(v.held)
			t.Fatalf("the client says %q, %v; %s", line, err, all)
		}
		if line == want+"\n" {
			return
		}
	}
}

// kill kills the client and returns how long it took until nothing of it lived.
func (v *victim) kill(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	v.gone(t)
	took := time.Since(start)
	v.cmd.Wait()
	return took
}

func (v *victim) gone(t *testing.T) {
	t.Helper()
	v.held.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, v.held); err != nil {
		t.Fatalf("a process lives on: %v", err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// left lists the files of boxer's in the place.
func (p place) left() []string {
	var names []string
	for _, dir := range []string{p.dirs.Temp, p.dirs.Runtime, filepath.Join(p.dirs.State, "scopes")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

func (p place) clean(t *testing.T) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for len(p.left()) > 0 {
		if time.Now().After(end) {
			t.Fatalf("left are %q", p.left())
		}
		time.Sleep(time.Millisecond)
	}
}

var rungs = map[string]keeper.Rung{"first rung that holds": 0, "no namespaces": keeper.Bare}

func eachRung(t *testing.T, do func(t *testing.T, base string, rung keeper.Rung)) {
	for name, rung := range rungs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(t, t.TempDir(), rung)
		})
	}
}

const forever = "echo hard to end >/dev/null; trap '' TERM; while :; do sleep 0.05; done"

func TestAKilledClientLeavesNothing(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, base string, rung keeper.Rung) {
		p := placeIn(t, base)
		v := newVictim(t, wish{Base: base, Rung: rung, Stay: forever})
		v.says(t, "running")
		took := v.kill(t)
		t.Logf("nothing lives %s after the kill", took.Round(time.Microsecond))
		if took > 20*time.Second { // on a machine that does nothing else it is a hundredth of a second
			t.Error("that is too long")
		}
		p.clean(t)
		if s := start(t, host.New(p.dirs), p); !s.Started() {
			t.Error("something was found running")
		}
	})
}

func TestAClientKilledWhileItPreparesLeavesNothing(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, base string, rung keeper.Rung) {
		p := placeIn(t, base)
		v := newVictim(t, wish{Base: base, Rung: rung, Setup: "touch under-way; " + forever})
		eventually(t, "setup is under way", func() bool { _, err := os.Stat(filepath.Join(p.scope.Worktree, "under-way")); return err == nil })
		v.kill(t)
		p.clean(t)
	})
}

func TestAClientKilledAtAnyMomentLeavesNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	eachRung(t, func(t *testing.T, base string, rung keeper.Rung) {
		random := rand.New(rand.NewPCG(seed, uint64(rung)))
		rounds := 6
		if testing.Short() {
			rounds = 2
		}
		for i := range rounds {
			base := filepath.Join(base, strconv.Itoa(i))
			p := placeIn(t, base)
			v := newVictim(t, wish{Base: base, Rung: rung, Setup: "sleep 0.05", Stay: forever})
			<-time.After(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // this is the thing tested
			v.kill(t)
			// One that died before its keeper was up can leave a record and an empty folder: the next start takes them.
			// A keeper that is just ending still answers, and refuses a start from another spec than its own.
			var s runner.Session
			eventually(t, "the next run starts", func() bool {
				var err error
				s, err = host.New(p.dirs).From(rung).Start(t.Context(), p.scope, p.spec(), nil)
				if err != nil && runner.CauseOf(err) != runner.ConfigChanged {
					t.Fatal(err)
				}
				return err == nil
			})
			if !s.Started() {
				t.Error("something was found running")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			p.clean(t)
		}
	})
}

func TestAKilledClientOfALastingKeeperTakesItsChildrenWithIt(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, base string, rung keeper.Rung) {
		p := placeIn(t, base)
		v := newVictim(t, wish{Base: base, Rung: rung, Keep: true, Stay: forever})
		v.says(t, "running")
		s, err := host.New(p.dirs).Attach(t.Context(), p.scope)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		t.Logf("nothing of it lives %s after the kill", v.kill(t).Round(time.Microsecond))
		eventually(t, "its children are gone", func() bool {
			all, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(all) == 1
		})
		if got := output(t, s, "echo yes"); got != "yes" {
			t.Error(got)
		}
		if err := s.Down(t.Context()); err != nil {
			t.Error(err)
		}
		p.clean(t)
	})
}

func (p place) owner(t *testing.T) int {
	t.Helper()
	r, err := runner.Store{Dir: p.dirs.State}.Get(p.scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	return r.Owner.PID
}

// keeperOf finds the keeper's process below its guard.
func keeperOf(t *testing.T, guard int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", guard, guard))
	var pids []int
	for f := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	// The guard has several threads, and the keeper is the child of the one that started it.
	tasks, taskErr := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", guard))
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		for f := range strings.FieldsSeq(string(b)) {
			pid, _ := strconv.Atoi(f)
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Skipf("this kernel does not list a process's children: %v, %v", err, taskErr)
	}
	return pids[0]
}

func TestAKilledKeeperTakesEverythingWithIt(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, base string, rung keeper.Rung) {
		for _, who := range []string{"owner", "keeper"} {
			base := filepath.Join(base, who)
			p := placeIn(t, base)
			v := newVictim(t, wish{Base: base, Rung: rung, Stay: forever})
			v.says(t, "running")
			pid := p.owner(t)
			if who == "keeper" && rung == keeper.Bare {
				pid = keeperOf(t, pid)
			}
			other, err := host.New(p.dirs).Attach(t.Context(), p.scope)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			line, _ := v.lines.ReadString('\n')
			if !strings.HasPrefix(line, "failed: GONE ") {
				t.Errorf("the client was told %q", line)
			}
			v.gone(t)
			eventually(t, "its socket answers nobody", func() bool {
				_, err := other.List(t.Context())
				return err != nil
			})
			other.Close()
			if s := start(t, host.New(p.dirs), p); !s.Started() {
				t.Error("something was found running")
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			p.clean(t)
		}
	})
}

func TestAKeeperThatIsAskedToEndEndsInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := start(t, host.New(p.dirs), p)
	if err := syscall.Kill(p.owner(t), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.clean(t)
	if _, err := s.List(t.Context()); err == nil {
		t.Error("it still answers")
	}
}

func TestWhatADeadKeeperLeftIsReclaimed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	start(t, host.New(p.dirs), p)
	if done, err := keeper.Reclaim(t.Context(), p.dirs, p.scope.Key); done || err != nil {
		t.Errorf("a living one: %v, %v", done, err)
	}
	r, err := runner.Store{Dir: p.dirs.State}.Get(p.scope.Key)
	if err != nil {
		t.Fatal(err)
	}
	// What overlayfs leaves, and a symlink that must not be followed.
	precious := filepath.Join(t.TempDir(), "precious")
	for _, err := range []error{
		os.WriteFile(precious, nil, 0o600),
		os.MkdirAll(filepath.Join(r.Dir, "work", "work", "deep"), 0o755),
		os.Symlink(filepath.Dir(precious), filepath.Join(r.Dir, "work", "link")),
		os.Chmod(filepath.Join(r.Dir, "work", "work"), 0),
		os.Chmod(filepath.Join(r.Dir, "work"), 0),
		syscall.Kill(r.Owner.PID, syscall.SIGKILL),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "it is reclaimed", func() bool {
		done, err := keeper.Reclaim(t.Context(), p.dirs, p.scope.Key)
		if err != nil {
			t.Fatal(err)
		}
		return done
	})
	p.clean(t)
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	if done, err := keeper.Reclaim(t.Context(), p.dirs, p.scope.Key); done || err != nil {
		t.Errorf("again: %v, %v", done, err)
	}
}

// TestARecordThatNamesAStranger: the number in the record belongs to another process by now. It must live.
func TestARecordThatNamesAStranger(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stranger.Process.Kill(); stranger.Wait() })
	if err := p.dirs.Make(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(p.dirs.Temp, "old")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	record := runner.Record{
		Scope: p.scope, Backend: host.Kind, Dir: dir, Socket: filepath.Join(p.dirs.Runtime, "old.sock"),
		Owner: runner.Process{PID: stranger.Process.Pid, Start: "1", Boot: "of another day"},
	}
	if err := (runner.Store{Dir: p.dirs.State}).Put(record); err != nil {
		t.Fatal(err)
	}
	b := host.New(p.dirs)
	if _, err := b.Attach(t.Context(), p.scope); runner.CauseOf(err) != runner.NotRunning {
		t.Error(err)
	}
	if err := b.Down(t.Context(), p.scope); err != nil {
		t.Error(err)
	}
	p.clean(t)
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("a stranger was killed")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestSocketPathsMayBeLong(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	p := placeIn(t, base)
	s := start(t, host.New(p.dirs), p)
	if got := output(t, s, "echo yes"); got != "yes" {
		t.Error(got)
	}
	other, err := host.New(p.dirs).Attach(t.Context(), p.scope)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	p.clean(t)
}
