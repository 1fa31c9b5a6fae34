//go:build linux

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Identity is what makes a child another machine than its parent, and what it must find to be a good one.
type Identity struct {
	Hostname  string
	MachineID string // 32 hex digits
	Worktree  string // must be a folder that can be read
}

// IdentityResult tells how the child found itself.
type IdentityResult struct {
	Now     time.Time // the child's wall clock
	Message string    // what is wrong, "" if nothing
}

// renew gives a fresh child its own identity and looks whether it is whole.
func renew(dec *json.Decoder, _ io.Reader) any {
	var id Identity
	if err := dec.Decode(&id); err != nil {
		return IdentityResult{Message: err.Error()}
	}
	err := errors.Join(
		wrap("set host name", syscall.Sethostname([]byte(id.Hostname))),
		writeMachineID(id.MachineID),
		readable(id.Worktree),
	)
	r := IdentityResult{Now: time.Now()}
	if err != nil {
		r.Message = err.Error()
	}
	return r
}

// writeMachineID replaces /etc/machine-id where the system has one; the root file system is the child's own.
func writeMachineID(id string) error {
	const path = "/etc/machine-id"
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return wrap("renew machine id", os.WriteFile(path, []byte(id+"\n"), 0o444))
}

func readable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return wrap("look at the worktree", err)
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err != nil && err != io.EOF {
		return wrap("read the worktree", err)
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
