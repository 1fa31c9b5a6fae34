package smolvmtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/boxer-ci/boxer/runner"
)

// execution is one command on its way.
type execution struct {
	live   bool
	cancel context.CancelCauseFunc
	total  int // bytes of both streams
	mu     sync.Mutex
	first  sync.Once
	struck func() // called at the first output
	died   atomic.Bool
	dead   chan struct{} // closed when a death that began is complete
}

var (
	errTooMuch = errors.New("command output exceeded")
	errStream  = errors.New("streaming output exceeded")
	errDied    = errors.New("the machine died")
)

// output is where one stream of the command goes.
type output struct {
	x    *execution
	w    io.Writer // nil: kept until the end
	kept bytes.Buffer
	cap  bool // --stream: both streams together
}

func (o *output) Write(b []byte) (int, error) {
	o.x.first.Do(o.x.struck)
	if o.w != nil {
		if o.cap {
			o.x.mu.Lock()
			o.x.total += len(b)
			over := o.x.total > outputCap
			o.x.mu.Unlock()
			if over {
				o.x.cancel(errStream)
				return 0, errStream
			}
		}
		return o.w.Write(b)
	}
	if o.kept.Len()+len(b) > outputCap {
		o.x.cancel(errTooMuch)
		return 0, errTooMuch
	}
	return o.kept.Write(b)
}

// connect gives the command its streams. finish waits for the end of its output.
func (c *call) connect(cmd *runner.Command, out, errs io.Writer, live bool) (finish func(), err error) {
	if c.args.has("tty") && c.args.has("interactive") && term.IsTerminal(int(c.In.Fd())) {
		return c.connectTerminal(cmd)
	}
	o, outW, err := relay(out)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, outW
	streams := []*stream{o}
	if !c.args.has("tty") {
		e, errW, err := relay(errs)
		if err != nil {
			return nil, err
		}
		cmd.Stderr = errW
		streams = append(streams, e)
	}
	var in *os.File
	if c.args.has("interactive") {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdin, in = r, r
		go func() { // it ends with the process: like smolvm it reads whatever comes
			io.Copy(w, c.In) //nolint:errcheck // a command that does not read is not at fault
			w.Close()
		}()
	}
	drain := plainDrain
	if live {
		drain = liveDrain
	}
	return func() {
		cmd.Stdout.Close()
		cmd.Stderr.Close()
		if in != nil {
			in.Close()
		}
		for _, s := range streams {
			s.wait(drain)
		}
	}, nil
}

func (c *call) connectTerminal(cmd *runner.Command) (func(), error) {
	old, err := term.MakeRaw(int(c.In.Fd()))
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Out
	return func() { term.Restore(int(c.In.Fd()), old) }, nil //nolint:errcheck // the terminal is gone
}

// wait gives the output some time to end by itself.
func (s *stream) wait(limit time.Duration) {
	select {
	case <-s.done:
	case <-time.After(limit):
		s.r.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
		<-s.done
	}
}
