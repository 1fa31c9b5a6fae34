// Package reap starts, signals and waits for processes where the caller is the one that orphans fall to: the first
// process of a PID namespace, a subreaper, or PID 1 in a sandbox. It imports nothing but the standard library, since
// the init of every sandbox carries it.
//
// It owns the process's right to wait: beside a Reaper nobody may wait for children, os/exec included, because one
// goroutine here waits for any child and would take their status.
//
// The choice a reader would question: one lock is held over every fork and every wait. It is what makes a signal by
// number safe, for a number that is still in the table has not been reaped and so belongs to nobody else.
package reap

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Reaper owns all children of this process. Make one with New, once per process.
type Reaper struct {
	mu    sync.Mutex
	procs map[int]*Proc // started here and not reaped
	holds int           // how many of them may not be reaped now

	wake chan os.Signal // SIGCHLD, and our own nudge after a hold ends
	stop chan struct{}
	over chan struct{}
}

// Proc is a process that a Reaper started.
type Proc struct {
	r      *Reaper
	pid    int
	holds  int // under r.mu
	done   chan struct{}
	status syscall.WaitStatus // set before done is closed
}

// New starts to reap; what fell to this process earlier is reaped at once.
func New() *Reaper {
	r := &Reaper{
		procs: map[int]*Proc{},
		wake:  make(chan os.Signal, 1),
		stop:  make(chan struct{}),
		over:  make(chan struct{}),
	}
	signal.Notify(r.wake, syscall.SIGCHLD)
	go r.loop()
	r.nudge()
	return r
}

// Close stops reaping. Processes that were started live on; a Wait for one does not return any more.
func (r *Reaper) Close() {
	signal.Stop(r.wake)
	close(r.stop)
	<-r.over
}

func (r *Reaper) nudge() {
	select {
	case r.wake <- syscall.SIGCHLD:
	default: // one is waiting already
	}
}

func (r *Reaper) loop() {
	defer close(r.over)
	for {
		select {
		case <-r.wake:
			r.reap()
		case <-r.stop:
			return
		}
	}
}

// reap takes every child that has ended. While one is held, waiting for any child could take it, so the others are
// asked for by number.
func (r *Reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds == 0 {
		for r.take(-1) {
		}
		return
	}
	for pid, p := range r.procs {
		if p.holds == 0 {
			r.take(pid)
		}
	}
	for _, pid := range zombiesOf(os.Getpid()) {
		if r.procs[pid] == nil {
			r.take(pid)
		}
	}
}

// take reaps one child, or any for -1, and tells whether there was one. The caller holds the lock.
func (r *Reaper) take(which int) bool {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(which, &status, syscall.WNOHANG, nil)
	for err == syscall.EINTR {
		pid, err = syscall.Wait4(which, &status, syscall.WNOHANG, nil)
	}
	if err != nil || pid <= 0 {
		return false
	}
	if p := r.procs[pid]; p != nil {
		delete(r.procs, pid)
		p.status = status
		close(p.done)
	}
	return true
}

// Start forks and executes argv0; a failure to execute is the error.
func (r *Reaper) Start(argv0 string, argv []string, attr *syscall.ProcAttr) (*Proc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(argv0, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &Proc{r: r, pid: pid, done: make(chan struct{})}
	r.procs[pid] = p
	return p, nil
}

// StartOn is Start from an OS thread of its own, on which prepare ran first: what prepare changes about the thread
// (its capabilities, its namespaces) holds for the new process and for nobody else, for the thread ends then.
func (r *Reaper) StartOn(prepare func() error, argv0 string, argv []string, attr *syscall.ProcAttr) (*Proc, error) {
	var p *Proc
	var err error
	done := make(chan struct{})
	go onThread(func() {
		defer close(done)
		if err = prepare(); err == nil {
			p, err = r.Start(argv0, argv, attr)
		}
	})
	<-done
	return p, err
}

// onThread runs do on an OS thread that ends with it. The main thread cannot end, and what /proc/PID shows of the
// process is what the main thread is, so on that one do is handed on: while it is held here, another goroutine
// must be on another thread.
func onThread(do func()) {
	runtime.LockOSThread()
	if onMainThread() {
		next := make(chan struct{})
		go onThread(func() { defer close(next); do() })
		<-next
		runtime.UnlockOSThread()
		return
	}
	do() // and no unlock: the runtime ends the thread with the goroutine
}

// Pid is the process's number. It may be given to another process once Done is closed.
func (p *Proc) Pid() int { return p.pid }

// Done is closed when the process has ended and was reaped.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Wait returns how the process ended, or the cause of ctx's end before that.
func (p *Proc) Wait(ctx context.Context) (syscall.WaitStatus, error) {
	select {
	case <-p.done:
		return p.status, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Signal signals the process, or returns os.ErrProcessDone when it has been reaped.
func (p *Proc) Signal(sig syscall.Signal) error { return p.kill(p.pid, sig) }

// SignalGroup signals the process group of which the process is the leader, or returns os.ErrProcessDone when the
// leader has been reaped and is not held: the number may be another group's by then.
func (p *Proc) SignalGroup(sig syscall.Signal) error { return p.kill(-p.pid, sig) }

func (p *Proc) kill(target int, sig syscall.Signal) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.r.procs[p.pid] != p {
		return os.ErrProcessDone
	}
	return syscall.Kill(target, sig)
}

// Hold keeps the number of the process, and so of its group, from being given away: when it ends it stays a zombie,
// and Done open, until release. ok is false when it has been reaped already.
func (p *Proc) Hold() (release func(), ok bool) {
	r := p.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.procs[p.pid] != p {
		return func() {}, false
	}
	p.holds++
	r.holds++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		p.holds--
		r.holds--
		r.mu.Unlock()
		r.nudge()
	}), true
}

const groupPoll = 5 * time.Millisecond

// EndGroup ends the process group of which the process is the leader: SIGTERM, and SIGKILL to what is left of it
// after grace, whether the leader itself has ended by then or not; a grace below 0 is SIGKILL alone. It returns when the group is gone or was killed;
// Wait has the leader's status right after. now, if not nil, cuts the grace short when it is closed.
func (p *Proc) EndGroup(grace time.Duration, now <-chan struct{}) {
	release, ok := p.Hold()
	if !ok {
		return
	}
	defer release()
	if grace < 0 {
		p.SignalGroup(syscall.SIGKILL)
		return
	}
	p.SignalGroup(syscall.SIGTERM)
	p.SignalGroup(syscall.SIGCONT) // a stopped one would see neither
	limit := time.NewTimer(grace)
	defer limit.Stop()
	tick := time.NewTicker(groupPoll)
	defer tick.Stop()
	for groupLives(p.pid) {
		select {
		case <-tick.C:
			continue
		case <-limit.C:
		case <-now:
		}
		break
	}
	p.SignalGroup(syscall.SIGKILL)
}
