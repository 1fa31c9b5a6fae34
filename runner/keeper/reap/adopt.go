package reap

import (
	"fmt"
	"os"
)

// Adopt takes a process that fell to this one when its parent ended into the table, so that it can be signalled and
// waited for like one that Start made. A number that is no child of ours, or not any more, is os.ErrProcessDone.
func (r *Reaper) Adopt(pid int) (*Proc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.procs[pid]; p != nil {
		return p, nil
	}
	// While the lock is held nobody reaps, so what is our child now stays it until it is in the table.
	s, err := StatOf(pid)
	if err != nil || s.PPID != os.Getpid() {
		return nil, fmt.Errorf("adopt process %d: %w", pid, os.ErrProcessDone)
	}
	p := &Proc{r: r, pid: pid, done: make(chan struct{})}
	r.procs[pid] = p
	return p, nil
}
