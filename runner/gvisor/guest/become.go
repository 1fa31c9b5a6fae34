//go:build linux

package guest

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"syscall"
)

// become turns this process into the requested command, as the requested user. It returns only if that fails.
func become() int {
	syscall.CloseOnExec(RequestFD)
	syscall.CloseOnExec(ResultFD)
	var r Request
	var res Result
	if err := json.NewDecoder(requestPipe()).Decode(&r); err != nil {
		res = broken(err)
	} else {
		res = execute(r)
	}
	json.NewEncoder(os.NewFile(ResultFD, "result")).Encode(res) //nolint:errcheck // nobody is left to tell
	return 1
}

func execute(r Request) Result {
	runtime.LockOSThread() // capabilities are a thread's, and the one that executes counts
	if err := os.Chdir(r.Dir); err != nil {
		return broken(err)
	}
	path, res := lookup(r)
	if path == "" {
		return res
	}
	groups := make([]int, len(r.Groups))
	for i, g := range r.Groups {
		groups[i] = int(g)
	}
	err := dropBounding(r.Caps)
	if err == nil && r.UID != 0 {
		err = errors.Join(syscall.Setgroups(groups), syscall.Setgid(int(r.GID)), syscall.Setuid(int(r.UID)))
	}
	if err != nil {
		return broken(err)
	}
	return notStarted(syscall.Exec(path, r.Args, r.Env))
}
