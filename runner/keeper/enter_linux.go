package keeper

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

func guarded(r Rung) bool { return !r.pid() }

func cleanupOf(r Rung) string {
	if r.pid() {
		return byKernel
	}
	return supervised
}

// enter brings the process that a rung's clone made into its place.
func enter(set setup) error {
	r := set.Rung
	if r.mount() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
	}
	if r.pid() {
		if os.Getpid() != 1 {
			return fmt.Errorf("process %d is not the first of its namespace", os.Getpid())
		}
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount /proc: %w", err)
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	if keepsUID(set) {
		return leavePrivilege(set)
	}
	return nil
}

// keepsUID tells whether the user namespace shows the caller under his own uid, which is not root: then the right to
// mount came with ambient capabilities, and every command would get them too.
func keepsUID(set setup) bool { return set.Bare && set.Rung.user() && set.UID != 0 }

// leavePrivilege starts the program once more without them. A thread can give up only its own, and an exec makes
// one thread's the whole process's.
func leavePrivilege(set setup) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if _, err := unix.FcntlInt(starterFD, unix.F_SETFD, 0); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", argsOf(set, roleEntered), os.Environ())
}

// attributes are what makes the clone of a rung.
func attributes(set setup) (*syscall.SysProcAttr, error) {
	r := set.Rung
	attr := &syscall.SysProcAttr{Setsid: true}
	if r.pid() {
		attr.Cloneflags |= syscall.CLONE_NEWPID
	}
	if r.mount() {
		attr.Cloneflags |= syscall.CLONE_NEWNS
	}
	if !r.user() {
		return attr, nil
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	uid, gid := 0, 0
	switch {
	case keepsUID(set):
		uid, gid = set.UID, set.GID
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	case set.Bare: // root without the capability: it must stay all of root, who runs services as other users
		var err error
		attr.UidMappings, attr.GidMappings, err = allIDs()
		attr.GidMappingsEnableSetgroups = true
		return attr, err
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: set.UID, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: set.GID, Size: 1}}
	return attr, nil
}

// allIDs maps every id that this user namespace knows to itself.
func allIDs() (uids, gids []syscall.SysProcIDMap, err error) {
	if uids, err = identity("/proc/self/uid_map"); err == nil {
		gids, err = identity("/proc/self/gid_map")
	}
	return uids, gids, err
}

func identity(file string) ([]syscall.SysProcIDMap, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []syscall.SysProcIDMap
	for {
		var inside, outside, size int
		if _, err := fmt.Fscan(f, &inside, &outside, &size); err != nil {
			break
		}
		all = append(all, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s tells no ids", file)
	}
	return all, nil
}

func killOffspring(ctx context.Context) error { return reap.KillDescendants(ctx) }

// guard starts a keeper that has no PID namespace, adopts what it leaves behind, and kills that.
func guard(set setup) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report(set, err)
	}
	reaper := reap.New()
	p, err := startKeeper(reaper, set)
	if err != nil {
		return report(set, err)
	}
	syscall.Close(starterFD) // the starter must see the keeper's end, and the keeper the starter's
	status, _ := p.Wait(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	if err := killOffspring(ctx); err != nil {
		return err
	}
	if status.ExitStatus() == 0 {
		return nil // it has taken everything away itself
	}
	if r, err := set.store().Get(set.Scope.Key); err != nil || r.Dir != set.Dir || r.Owner.PID != os.Getpid() {
		return nil // it never was the sandbox's: its rung did not hold, and the starter tries the next
	}
	return set.remove()
}

// sweepTime bounds the end of a keeper. It is for what no kill can reach, such as a process in a dead network mount.
const sweepTime = 10 * time.Second

func startKeeper(reaper *reap.Reaper, set setup) (*reap.Proc, error) {
	attr, err := attributes(set)
	if err != nil {
		return nil, err
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer syscall.Close(pipe[0]) // and never the other end: it is the guard's sign of life
	return reaper.Start("/proc/self/exe", argsOf(set, roleKeep), &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{0, 1, 2, starterFD, uintptr(pipe[0])}, Sys: attr,
	})
}
