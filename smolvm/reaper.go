package smolvm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// reaperName is argv[0] of the reaper: boxer started again, in a session of its own, with the reading end of a pipe
// as its stdin. The pipe closes when the session's process ends in any way.
const reaperName = "boxer-reaper"

// reaper is the session's end of the pipe. The zero value has not been started.
type reaper struct {
	mu   sync.Mutex
	pipe *os.File
	cmd  *exec.Cmd
	over bool
}

// notice is one line that a reaper is told.
type notice struct {
	Goodbye bool     `json:",omitempty"` // there is nothing to do
	Running *running `json:",omitempty"`
	Ended   string   `json:",omitempty"` // id of a command
}

// order is what the reaper is to look after: its first line.
type order struct {
	Dirs    runner.Dirs
	Program string
	Key     string
	Dir     string
	Lease   string
}

// start starts the reaper, once.
func (r *reaper) start(s *Session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil || r.over {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	exe := s.backend.Exe
	if exe == "" {
		if exe, err = os.Executable(); err == nil && runtime.GOOS == "linux" {
			exe = "/proc/self/exe" // works for a binary that `go run` has deleted
		}
	}
	if err != nil {
		return errors.Join(err, write.Close())
	}
	c := &exec.Cmd{Path: exe, Args: []string{reaperName, Kind, strconv.Itoa(os.Getpid())}, Stdin: read, Env: s.backend.Env, Dir: "/"}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the reaper: %w", err), write.Close())
	}
	r.pipe, r.cmd = write, c
	return r.write(order{s.backend.dirs, s.backend.Program, s.key(), s.record.Dir, s.id})
}

func (r *reaper) write(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = r.pipe.Write(append(b, '\n'))
	return err
}

// tell is for the reaper if there is one. That it is dead is no reason to fail: then boxer gc is left.
func (r *reaper) tell(n notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil && !r.over {
		r.write(n) //nolint:errcheck // same
	}
}

// goodbye sends the reaper away.
func (r *reaper) goodbye() {
	r.tell(notice{Goodbye: true})
	r.close()
}

// close ends the pipe. A reaper that was not sent away sets to work.
func (r *reaper) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil || r.over {
		return
	}
	r.over = true
	r.pipe.Close()
	done := make(chan struct{})
	go func() { r.cmd.Wait(); close(done) }() //nolint:errcheck // it has no word for us
	select {
	case <-done:
	case <-time.After(removeTime):
	}
}

// Main runs the reaper, if that is what args ask for. It is called at the top of main.
func Main(args []string) (code int, handled bool) {
	if len(args) != 3 || filepath.Base(args[0]) != reaperName || args[1] != Kind {
		return 0, false
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := reap(); err != nil {
		return 1, true
	}
	return 0, true
}

// reap listens until the pipe closes, and then removes what is left of the lease.
func reap() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.New("no order")
	}
	var o order
	if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
		return err
	}
	under := map[string]running{}
	for lines.Scan() {
		var n notice
		switch err := json.Unmarshal(lines.Bytes(), &n); {
		case err != nil: // half a line is the last
		case n.Goodbye:
			return nil
		case n.Running != nil:
			under[n.Running.ID] = *n.Running
		default:
			delete(under, n.Ended)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*removeTime)
	defer cancel()
	b := &Backend{dirs: o.Dirs, Program: o.Program}
	b.endAll(ctx, under)
	return b.reclaimLease(ctx, o)
}

// endAll ends the commands that the dead process left running: in the machine, and the smolvm that ran them.
func (b *Backend) endAll(ctx context.Context, under map[string]running) {
	g := newGuests(b.program())
	var wg sync.WaitGroup
	for _, r := range under {
		wg.Go(func() {
			if !alive(r.Process) {
				return
			}
			ctx, cancel := context.WithTimeout(ctx, lastWords)
			defer cancel()
			g.ask(ctx, r.Machine, signalScript, r.ID, "9") //nolint:errcheck // the next line is the harder one
			for range 20 {
				if !alive(r.Process) {
					return
				}
				time.Sleep(poll)
			}
			if alive(r.Process) {
				syscall.Kill(-r.Process.PID, syscall.SIGKILL) //nolint:errcheck // ended just now
			}
		})
	}
	wg.Wait()
}

// reclaimLease removes what a dead session's lease holds.
func (b *Backend) reclaimLease(ctx context.Context, o order) error {
	r, err := b.store().Get(o.Key)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && r.Dir != o.Dir) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := b.session(r)
	if err != nil {
		return err
	}
	s.id = o.Lease
	if err := s.awaitMakers(ctx); err != nil {
		return err
	}
	return s.drop(ctx)
}

// awaitMakers waits for each smolvm that still makes a child for the lease: a machine that is not there yet cannot be
// removed. The branch that a process was about to start when it died may have no number in the book; smolvm is asked
// for something that waits for it.
func (s *Session) awaitMakers(ctx context.Context) error {
	k, err := s.book.read()
	if runner.CauseOf(err) == runner.Gone {
		return nil
	}
	if err != nil {
		return err
	}
	unknown := false
	for _, c := range k.Children {
		if c.Lease != s.id || c.Ready {
			continue
		}
		unknown = unknown || c.Maker.PID == 0
		for c.Maker.PID != 0 && alive(c.Maker) {
			if err := wait(ctx, poll); err != nil {
				return err
			}
		}
	}
	if unknown {
		if err := wait(ctx, 20*poll); err != nil {
			return err
		}
		s.guests.program.do(ctx, "machine", "sync", "--name", s.key()) //nolint:errcheck // it is only waited for
	}
	return nil
}
