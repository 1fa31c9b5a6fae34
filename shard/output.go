package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/shard/screen"
)

const (
	chunkSize = 32 << 10
	tailSize  = 8 << 10
	// leftoverGrace is how long output may still come after a command's end. Who holds the pipe longer is a process
	// that the command left behind, and may hold it for ever.
	leftoverGrace = time.Second
	urgentGrace   = 200 * time.Millisecond // of a run that was cancelled
	// stuckGrace is how much longer a reader may hang in a write, to a terminal that somebody stopped.
	stuckGrace = time.Second
)

// pump takes a command's output from one pipe to the log on disk, as it is but for secrets, and to the screen. Memory is bounded by the
// size of a chunk, the tail and one line.
type pump struct {
	pipe  *os.File
	log   *os.File
	clean *redactor
	lines *screen.Liner
	done  chan struct{}

	mu  sync.Mutex
	out output
}

// output is what is known of a command's output after its end.
type output struct {
	tail     []byte // the last of it
	leftover bool   // a process still held the pipe
	err      error  // the log is not whole
}

// openOutput opens the log and gives the one end that stdout and stderr both go to, so that their order is kept. The
// caller closes it after the command's end and then calls finish.
func (r *run) openOutput(number int) (*pump, *os.File, error) {
	log, err := r.dir.log(number)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	pipe, w, err := os.Pipe()
	if err != nil {
		log.Close()
		return nil, nil, err
	}
	p := &pump{pipe: pipe, log: log, clean: newRedactor(r.options.Secrets), done: make(chan struct{})}
	p.lines = r.screen.Lines(number)
	go p.run()
	return p, w, nil
}

// run owns the pipe's end and the log: it closes both.
func (p *pump) run() {
	defer close(p.done)
	defer p.pipe.Close()
	chunk := make([]byte, chunkSize)
	err := p.copy(chunk, -1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline may have passed while the screen was stuck: what lies in the pipe by now still counts.
		p.pipe.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		err = p.copy(chunk, 4)
	}
	p.show(p.clean.pass(nil, true))
	p.lines.Flush()
	closed := p.log.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.leftover = !errors.Is(err, io.EOF)
	p.out.err = errors.Join(p.out.err, closed)
}

// copy takes chunks until an error, or that many; -1 is no limit. A log that cannot be written any more does not stop
// it: the command must not hang in a full pipe.
func (p *pump) copy(chunk []byte, most int) error {
	for ; most != 0; most-- {
		n, err := p.pipe.Read(chunk)
		p.show(p.clean.pass(chunk[:n], false))
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pump) show(b []byte) {
	if len(b) > 0 {
		p.keep(b)
		p.lines.Write(b)
	}
}

func (p *pump) keep(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out.err == nil {
		if _, err := p.log.Write(b); err != nil {
			p.out.err = fmt.Errorf("write the log: %w", err)
		}
	}
	p.out.tail = append(p.out.tail, b...)
	if over := len(p.out.tail) - tailSize; over > 0 {
		p.out.tail = append(p.out.tail[:0], p.out.tail[over:]...)
	}
}

// finish waits until all output is read, at most until ctx ends and a little more.
func (p *pump) finish(ctx context.Context) output {
	stop := context.AfterFunc(ctx, func() { p.pipe.SetReadDeadline(time.Now()) })
	defer stop()
	select {
	case <-p.done:
	case <-ctx.Done():
		stuck := time.NewTimer(stuckGrace)
		defer stuck.Stop()
		select {
		case <-p.done:
		case <-stuck.C:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	select {
	case <-p.done:
	default:
		out.leftover = true
	}
	out.tail = append([]byte(nil), out.tail...)
	return out
}
