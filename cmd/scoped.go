package cmd

import (
	"errors"
	"strings"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/cmd/trust"
	"github.com/boxer-ci/boxer/runner"
)

// scoped is the configuration as it holds for one scope.
type scoped struct {
	config.Config
	scope runner.Scope
	dir   string // real folder that commands start in

	change trust.Change // whose the code under test is
}

// resolve reads the configuration for the folder that boxer was called for. What is wrong goes onto f.
func (d deps) resolve(f *config.Faults) scoped {
	dir, err := d.dir()
	if err != nil { // told by action already; flags and variables are checked all the same
		_, err := config.Load(config.Request{Dir: "/", Scope: runner.Scope{Worktree: "/"}, Env: d.Env, Flags: d.call.flags})
		noteFault(f, err)
		return scoped{}
	}
	return d.resolveAt(dir, f)
}

func (d deps) resolveAt(dir string, f *config.Faults) scoped {
	scope, err := runner.ScopeOf(dir)
	if err != nil {
		noteFault(f, err)
		return scoped{}
	}
	change := trust.Of(d.getenv)
	cfg, err := config.Load(config.Request{
		Dir: dir, Scope: scope, File: d.call.file, Env: d.Env, Flags: d.call.flags, Untrusted: change.Untrusted,
	})
	noteFault(f, err)
	return scoped{Config: cfg, scope: scope, dir: dir, change: change}
}

func noteFault(f *config.Faults, err error) {
	if faults, ok := errors.AsType[config.Faults](err); ok {
		*f = append(*f, faults...)
	} else if err != nil {
		fault(f, "", "%s", err)
	}
}

// spec is what a sandbox of this configuration is started from.
func (s scoped) spec(caller []string, worktree runner.Worktree) runner.Spec {
	env, _ := config.Environment(caller, s.Env)
	dir := s.scope.Worktree
	if s.File != "" {
		dir = s.Base // not where boxer was called: the same file means the same sandbox from every folder
	}
	return runner.Spec{
		Worktree: worktree, Dir: dir, Env: env, Hide: s.Hide, Show: s.Show,
		Services: s.Services, Setup: s.Setup, Machine: s.Smolvm,
	}
}

// withheld is the line about variables that did not enter, or "".
func (s scoped) withheld(caller []string) string {
	_, names := config.Environment(caller, s.Env)
	if len(names) == 0 {
		return ""
	}
	return "not passed in: " + strings.Join(names, ", ") + " (env: or --env NAME lets one in)"
}
