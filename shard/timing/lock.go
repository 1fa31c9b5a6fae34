package timing

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	patience = 30 * time.Second // another run holds the lock for milliseconds
	between  = 5 * time.Millisecond
)

// lock takes the lock of a file, which the kernel gives back when its holder dies. It gives up on one that is not
// given back: a report that never ends would be worse than timings that are not written.
func lock(path string, patience time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(between) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return func() { f.Close() }, nil // some network disks have no locks: the rename still keeps the file whole
		case err != syscall.EWOULDBLOCK && err != syscall.EINTR, time.Now().After(end):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
