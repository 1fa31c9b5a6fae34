//go:build linux

package gvisor

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// account is who a command runs as inside.
type account struct {
	uid, gid uint32
	groups   []uint32
	name     string // with a home of its own; "" for the caller, who keeps his environment
	home     string
}

// user finds an account by name or number in the host's database, which is the sandbox's too. "" is the caller: root,
// or uid 0 that stands for an ordinary user.
func (e *engine) user(name string) (account, error) {
	if name == "" {
		return account{groups: e.groups}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return account{}, &runner.Error{
				Reason: fmt.Sprintf("there is no user %q on this machine", name), Cause: "UNKNOWN_USER",
				Fix: "getent passwd", Scope: e.scope.String(), Worktree: e.scope.Worktree,
			}
		}
	}
	a := account{name: u.Username, home: u.HomeDir, uid: number(u.Uid), gid: number(u.Gid)}
	ids, err := u.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("groups of user %s: %w", name, err)
	}
	for _, id := range ids {
		a.groups = append(a.groups, number(id))
	}
	return a, nil
}

func number(id string) uint32 {
	n, _ := strconv.ParseUint(id, 10, 32) // digits on every system that has gVisor
	return uint32(n)
}

// environment is env with the account's own HOME and names. Of a name that occurs twice the last value counts, as
// with any program that Go starts.
func (a account) environment(env []string) []string {
	if a.name != "" {
		env = append(slices.Clip(env), "HOME="+a.home, "USER="+a.name, "LOGNAME="+a.name)
	}
	seen := map[string]bool{}
	var out []string
	for _, v := range slices.Backward(env) {
		if name, _, _ := strings.Cut(v, "="); !seen[name] {
			seen[name] = true
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// supplementary are the keeper's own further groups, which commands of root keep. In a user namespace none is mapped.
func supplementary(userNamespace bool) []uint32 {
	if userNamespace {
		return nil
	}
	ids, err := os.Getgroups()
	if err != nil {
		return nil
	}
	var groups []uint32
	for _, id := range ids {
		groups = append(groups, uint32(id))
	}
	return groups
}

// home is the home folder that the user database has for the caller, "" if it has none.
func (e *engine) home() string {
	u, err := user.LookupId(strconv.Itoa(e.env.UID))
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// valueOf is the value of a variable, the last one if it is set twice, "" if it is not.
func valueOf(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
