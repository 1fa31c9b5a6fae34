//go:build linux

package guest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// dropBounding takes every capability that is not in keep out of the calling thread's bounding set, so that neither
// uid 0 nor a file capability can give it to what the thread executes.
func dropBounding(keep []uintptr) error {
	kept := map[uintptr]bool{}
	for _, c := range keep {
		kept[c] = true
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if kept[c] {
			continue
		}
		// A capability that the kernel does not know is EINVAL: it cannot be had either.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return err
		}
	}
	return nil
}

// enter changes the folder of the calling thread alone.
func enter(dir string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare the folder: %w", err)
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	return nil
}
