package host

import (
	"bytes"
	"context"
	"os"
	"strconv"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// killAll ends every process of the children, wherever it has hidden. Nothing starts in them any more by our hand.
func killAll(ctx context.Context, children []*child) error {
	return reap.KillAll(ctx, func(all []reap.Stat) []reap.Stat {
		var found []reap.Stat
		for _, c := range children {
			found = append(found, c.pick(all)...)
		}
		return found
	})
}

// pick finds the child's processes: those that carry its mark, those in a session that was started for it, and what
// they started. One with another child's mark is not among them, whatever its numbers say.
func (c *child) pick(all []reap.Stat) []reap.Stat {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(all)
	var mine []reap.Stat
	var roots []int
	seen := map[int]bool{}
	for _, s := range all {
		mark := markOf(s.PID)
		if mark == c.mark || (mark == "" && c.sessions[s.SID] != nil) {
			mine = append(mine, s)
			roots = append(roots, s.PID)
			seen[s.PID] = true
		}
	}
	for _, s := range reap.Descendants(all, roots...) {
		if mark := markOf(s.PID); !seen[s.PID] && (mark == "" || mark == c.mark) {
			mine = append(mine, s)
		}
	}
	return mine
}

// forget drops sessions whose number may be given to another by now: those whose leader was reaped, and in which
// nobody is left, or whose number a process has again. The caller holds the lock.
func (c *child) forget(all []reap.Stat) {
	inhabited, processes := map[int]bool{}, map[int]bool{}
	for _, s := range all {
		inhabited[s.SID] = true
		processes[s.PID] = true
	}
	for sid, leader := range c.sessions {
		select {
		case <-leader.Done():
			if !inhabited[sid] || processes[sid] {
				delete(c.sessions, sid)
			}
		default:
		}
	}
}

// markOf reads the mark that a process was started with; "" if it has none, or does not show it.
func markOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if mark, ok := bytes.CutPrefix(v, []byte(markName+"=")); ok {
			return string(mark)
		}
	}
	return ""
}
