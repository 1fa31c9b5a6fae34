package keeper

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// identify names a process so that it can be told from a later one with its number.
func identify(pid int) (runner.Process, error) {
	s, err := reap.StatOf(pid)
	if err != nil {
		return runner.Process{}, err
	}
	boot, err := bootID()
	return runner.Process{PID: pid, Start: s.Start, Boot: boot}, err
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b)), err
}

func alive(p runner.Process) bool {
	s, err := reap.StatOf(p.PID)
	if err != nil || s.Start != p.Start || s.Over() {
		return false
	}
	boot, err := bootID()
	return err == nil && boot == p.Boot
}

// end kills the process that p names and nobody else.
func end(p runner.Process) {
	if s, err := reap.StatOf(p.PID); err == nil && alive(p) {
		s.Kill()
	}
}

// mountsBelow lists the mounts in the folder, in the order they were made.
func mountsBelow(dir string) ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			if path := unescape(f[4]); path == dir || strings.HasPrefix(path, dir+"/") {
				found = append(found, path)
			}
		}
	}
	return found, nil
}

// unescape reads a path of /proc/self/mountinfo.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// noMountBelow refuses to remove a folder in which something is mounted: it may be the host's own root.
func noMountBelow(dir string) error {
	found, err := mountsBelow(dir)
	if err == nil && len(found) > 0 {
		last := found[len(found)-1] // the first that can go
		err = &runner.Error{
			Reason: fmt.Sprintf("%s is not removed: something is mounted at %s", dir, last),
			Cause:  "MOUNTED", Fix: "umount " + last,
		}
	}
	return err
}

// unmountBelow takes away what is mounted in the folder, in this mount namespace.
func unmountBelow(dir string) error {
	found, err := mountsBelow(dir)
	for i := len(found) - 1; i >= 0; i-- {
		// One that is gone with another is no error, and what stays shows in noMountBelow.
		unix.Unmount(found[i], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	return err
}

// ours tells whether the other side of the connection is run by who runs this process.
func ours(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return credErr
	}
	if int(cred.Uid) != os.Getuid() {
		return fmt.Errorf("refused a connection by uid %d", cred.Uid)
	}
	return nil
}
