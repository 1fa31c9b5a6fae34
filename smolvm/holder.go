package smolvm

import (
	"bytes"
	"os"
	"sync"
	"time"
)

// holder passes a command's stderr on as it comes, but for what may be smolvm's own last words: from a line that
// begins with "Error: " on, text waits a moment. smolvm ends right after such a line; if more time passes, it was the
// command's.
type holder struct {
	to *os.File // nil: nobody reads it

	mu      sync.Mutex
	waiting []byte // begins with "Error: " at the start of a line, or with a part of that
	inside  bool   // what was passed on last did not end its line
	timer   *time.Timer
	tail    []byte // the last of all that came
}

const (
	ownWords = "Error: "
	holdTime = 300 * time.Millisecond
	tailSize = 8 << 10
)

// Write never fails: a reader that went away is for the command to see, and smolvm is not it.
func (h *holder) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, b...)
	h.tail = append(h.tail, b...)
	h.tail = append(h.tail[:0], h.tail[max(0, len(h.tail)-tailSize):]...)
	at := h.begin()
	h.pass(at)
	if len(h.waiting) > 0 && h.timer == nil {
		h.timer = time.AfterFunc(holdTime, h.flush)
	}
	return len(b), nil
}

// begin is where in waiting smolvm's own words may begin.
func (h *holder) begin() int {
	for i := 0; i < len(h.waiting); {
		if i > 0 || !h.inside {
			rest := h.waiting[i:]
			if bytes.HasPrefix(rest, []byte(ownWords)) || bytes.HasPrefix([]byte(ownWords), rest) {
				return i
			}
		}
		next := bytes.IndexByte(h.waiting[i:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
	}
	return len(h.waiting)
}

// pass writes the first n bytes that wait.
func (h *holder) pass(n int) {
	if n == 0 {
		return
	}
	h.inside = h.waiting[n-1] != '\n'
	if h.to != nil {
		h.to.Write(h.waiting[:n]) //nolint:errcheck // nobody listens any more
	}
	h.waiting = append(h.waiting[:0], h.waiting[n:]...)
}

// flush passes on all that waits.
func (h *holder) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	h.pass(len(h.waiting))
}

// own is what smolvm itself may have said last, if it is not the command's after all. It waits on for flush.
func (h *holder) own() (text string, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	if bytes.HasPrefix(h.waiting, []byte(ownWords)) {
		return string(h.waiting), true
	}
	_, found = errorLine(string(h.tail)) // it came too slowly and was passed on
	return string(h.tail), found
}
