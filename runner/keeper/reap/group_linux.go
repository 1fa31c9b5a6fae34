package reap

import "syscall"

func onMainThread() bool { return syscall.Gettid() == syscall.Getpid() }

// groupLives tells whether a process of the group has not ended; a zombie leader alone is not one.
func groupLives(pgid int) bool {
	all, err := Processes()
	if err != nil {
		return syscall.Kill(-pgid, 0) == nil
	}
	for _, s := range all {
		if s.PGID == pgid && !s.Over() {
			return true
		}
	}
	return false
}
