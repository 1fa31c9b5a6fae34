package runner

import (
	"bytes"
	"os"
	"strings"
	"time"
)

const (
	tailBytes = 8 << 10
	tailLines = 20
	// tailGrace is how long the reader waits for a process that the command left behind and that still holds the
	// pipe: what it writes later is of no interest.
	tailGrace = 200 * time.Millisecond
)

// tail reads a pipe to its end and keeps the last lines, in bounded memory.
type tail struct {
	r    *os.File
	done chan struct{}
	buf  []byte
}

func newTail() (*tail, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	t := &tail{r: r, done: make(chan struct{})}
	go t.read()
	return t, w, nil
}

func (t *tail) read() {
	defer close(t.done)
	chunk := make([]byte, 4096)
	for {
		n, err := t.r.Read(chunk)
		t.buf = append(t.buf, chunk[:n]...)
		if over := len(t.buf) - tailBytes; over > 0 {
			t.buf = append(t.buf[:0], t.buf[over:]...)
		}
		if err != nil {
			return
		}
	}
}

// lines closes the write end, waits for the reader and returns the last lines.
func (t *tail) lines(w *os.File) []string {
	w.Close()
	t.r.SetReadDeadline(time.Now().Add(tailGrace))
	<-t.done
	t.r.Close()
	return LastLines(t.buf)
}

// LastLines returns the last 20 lines of b without their ends.
func LastLines(b []byte) []string {
	b = bytes.TrimRight(b, "\n")
	if len(b) == 0 {
		return nil
	}
	all := strings.Split(string(b), "\n")
	return all[max(0, len(all)-tailLines):]
}
