//go:build linux

package reap_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// All tests share the one Reaper that a process may have; none of them may use os/exec.
var reaper *reap.Reaper

func TestMain(m *testing.M) {
	const subreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, subreaper, 1, 0); errno != 0 {
		panic(errno)
	}
	reaper = reap.New()
	os.Exit(m.Run())
}

func sh(t *testing.T, line string, files ...uintptr) *reap.Proc {
	t.Helper()
	p, err := reaper.Start("/bin/sh", []string{"sh", "-c", line}, attr(files...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.SignalGroup(syscall.SIGKILL) })
	return p
}

func attr(files ...uintptr) *syscall.ProcAttr {
	for len(files) < 3 {
		files = append(files, []uintptr{0, 1, 2}[len(files)])
	}
	return &syscall.ProcAttr{Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
}

// output starts the line with its standard output in a pipe.
func output(t *testing.T, line string) (*reap.Proc, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	p := sh(t, line, 0, w.Fd())
	w.Close()
	return p, bufio.NewReader(r)
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func number(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func gone(pid int) bool {
	_, err := reap.StatOf(pid)
	return errors.Is(err, os.ErrNotExist)
}

func TestEveryStatusReachesItsOwnWaiter(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			p, err := reaper.Start("/bin/sh", []string{"sh", "-c", fmt.Sprintf("exit %d", i)}, attr())
			if err != nil {
				t.Error(err)
				return
			}
			status, err := p.Wait(deadline(t))
			if err != nil || status.ExitStatus() != i {
				t.Errorf("exit %d: got %v, %v", i, status, err)
			}
		})
	}
	wg.Wait()
}

func TestStartTellsWhyAProgramCannotRun(t *testing.T) {
	t.Parallel()
	if _, err := reaper.Start("/no/such/program", []string{"x"}, attr()); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	if _, err := reaper.Start("/etc/passwd", []string{"x"}, attr()); !errors.Is(err, syscall.EACCES) {
		t.Error(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := sh(t, "exec sleep 1000")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := p.Wait(ctx); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	p, out := output(t, "sh -c 'echo $$; exec sleep 0.05' & exit 3")
	orphan := number(t, out)
	if status, err := p.Wait(deadline(t)); err != nil || status.ExitStatus() != 3 {
		t.Errorf("%v, %v", status, err)
	}
	eventually(t, "the orphan is reaped", func() bool { return gone(orphan) })
}

func TestAReapedProcessIsNotSignalled(t *testing.T) {
	t.Parallel()
	p := sh(t, "exit 0")
	if _, err := p.Wait(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if err := p.SignalGroup(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if _, ok := p.Hold(); ok {
		t.Error("a reaped process was held")
	}
}

func TestAHeldProcessStaysAZombieAndOthersDoNot(t *testing.T) {
	t.Parallel()
	p := sh(t, "exec sleep 1000")
	release, ok := p.Hold()
	if !ok {
		t.Fatal("not held")
	}
	p.Signal(syscall.SIGKILL)
	eventually(t, "a zombie", func() bool { s, err := reap.StatOf(p.Pid()); return err == nil && s.Over() })

	other, out := output(t, "sh -c 'echo $$; exec sleep 0.05' & exit 4")
	orphan := number(t, out)
	if status, err := other.Wait(deadline(t)); err != nil || status.ExitStatus() != 4 {
		t.Errorf("%v, %v", status, err)
	}
	eventually(t, "the orphan is reaped", func() bool { return gone(orphan) })
	select {
	case <-p.Done():
		t.Fatal("a held process was reaped")
	default:
	}
	release()
	if status, err := p.Wait(deadline(t)); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("%v, %v", status, err)
	}
}

func TestEndGroupGivesTimeToWhatObeys(t *testing.T) {
	t.Parallel()
	// The shell dies of SIGTERM at once; its child needs a moment to say goodbye.
	p, out := output(t, `(trap 'sleep 0.1; echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait`)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	p.EndGroup(20*time.Second, nil)
	if line, err := out.ReadString('\n'); line != "bye\n" {
		t.Error(line, err)
	}
	if status, err := p.Wait(deadline(t)); err != nil || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v, %v", status, err)
	}
}

func TestEndGroupKillsWhatDoesNotObey(t *testing.T) {
	t.Parallel()
	p, out := output(t, `(trap '' TERM; exec sh -c 'echo $$; while :; do sleep 0.05; done') & wait`)
	stubborn := number(t, out)
	p.EndGroup(50*time.Millisecond, nil)
	eventually(t, "the stubborn child is gone", func() bool { return gone(stubborn) })

	p, out = output(t, `trap '' TERM; echo $$; while :; do sleep 0.05; done`)
	number(t, out)
	now := make(chan struct{})
	close(now)
	p.EndGroup(time.Hour, now)
	if status, err := p.Wait(deadline(t)); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("%v, %v", status, err)
	}
}

func TestStartOnChangesOnlyTheNewProcess(t *testing.T) {
	t.Parallel()
	before, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		tid := 0
		p, err := reaper.StartOn(func() error {
			tid = syscall.Gettid()
			return syscall.Setpriority(syscall.PRIO_PROCESS, 0, 7) // of a thread, on Linux
		}, "/bin/sh", []string{"sh", "-c", "nice"}, attr(0, w.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got := number(t, bufio.NewReader(r)); got != 7 {
			t.Errorf("niceness %d in the new process", got)
		}
		r.Close()
		p.Wait(deadline(t))
		if tid == os.Getpid() {
			t.Fatal("the main thread was used")
		}
		eventually(t, "the thread ends", func() bool {
			_, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid))
			return err != nil
		})
	}
	if after, err := syscall.Getpriority(syscall.PRIO_PROCESS, os.Getpid()); err != nil || after != before {
		t.Errorf("the main thread changed from %d to %d, %v", before, after, err)
	}
	why := errors.New("no")
	if _, err := reaper.StartOn(func() error { return why }, "/bin/sh", []string{"sh"}, attr()); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestProcessesReadsOddNames(t *testing.T) {
	t.Parallel()
	name := t.TempDir() + "/a) Z (b"
	if err := os.Symlink("/bin/sleep", name); err != nil {
		t.Fatal(err)
	}
	p, err := reaper.Start(name, []string{name, "1000"}, attr())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Signal(syscall.SIGKILL)
	s, err := reap.StatOf(p.Pid())
	if err != nil || s.PPID != os.Getpid() || s.PGID != p.Pid() || s.SID != p.Pid() || s.Over() || s.Start == "" {
		t.Errorf("%+v, %v", s, err)
	}
	all, err := reap.Processes()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, each := range all {
		found = found || each.PID == p.Pid() && each.Start == s.Start
	}
	if !found {
		t.Error("not in the table")
	}
}

func TestKillAllEndsAFamilyThatHides(t *testing.T) {
	t.Parallel()
	// A daemon that left its parent, its session and its group, a stopped one, and one that breeds.
	p, out := output(t, `
setsid sh -c 'setsid sleep 1001 & setsid sleep 1002 & wait' &
sh -c 'kill -STOP $$' &
sh -c 'while :; do sleep 0.01 & done' &
echo ready; wait`)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	family := func(all []reap.Stat) []reap.Stat {
		var roots []int
		var found []reap.Stat
		for _, s := range all {
			if s.PID == p.Pid() || s.SID == p.Pid() {
				roots = append(roots, s.PID)
				found = append(found, s)
			}
		}
		return append(found, reap.Descendants(all, roots...)...)
	}
	eventually(t, "the family has grown", func() bool {
		all, err := reap.Processes()
		return err == nil && len(family(all)) > 6
	})
	if err := reap.KillAll(deadline(t), family); err != nil {
		t.Error(err)
	}
	if status, err := p.Wait(deadline(t)); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("%v, %v", status, err)
	}
}

func TestKillAllNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	p := sh(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := reap.KillAll(ctx, func([]reap.Stat) []reap.Stat {
		return []reap.Stat{{PID: p.Pid(), Start: "not its start"}} // as if the number had been given away
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), strconv.Itoa(p.Pid())) {
		t.Error(err)
	}
	select {
	case <-p.Done():
		t.Error("a process with another start time was killed")
	default:
	}
}
