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

// awaitIdentity is init's line to the keeper: on its standard input an Identity, on its standard output the answer.
// In a parent nothing ever comes. A fork cuts the read off in the middle and starts it again in the child, where both
// ends are other pipes: so a child has its identity as soon as it runs, and no program must be started for it.
func awaitIdentity(in io.Reader, out io.Writer) {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var id Identity
		if err := dec.Decode(&id); err != nil {
			return // the keeper closed its end
		}
		enc.Encode(renew(id)) //nolint:errcheck // the keeper waits for an answer with a time limit
	}
}

// renew gives a fresh child its own identity and looks whether it is whole.
func renew(id Identity) IdentityResult {
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
