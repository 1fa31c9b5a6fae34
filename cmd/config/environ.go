package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// basics enter every sandbox if the caller has them: what programs need to be found and to talk, and nothing that
// tells who somebody is to a service outside.
var basics = []string{
	"PATH", "HOME", "USER", "SHELL", "LANG", "LC_*", "TZ", "TERM",
	"COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
	"CI", "NODE_ENV", "NODE_OPTIONS", "PLAYWRIGHT_BROWSERS_PATH", "JAVA_HOME",
	"GOPATH", "GOROOT", "GOFLAGS", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH",
}

// never lists what enters no sandbox, whoever names it: the CI's own tokens, and the files through which a step
// gives its job orders.
var never = []string{
	"GITHUB_TOKEN", "ACTIONS_*", "CI_JOB_TOKEN",
	"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
}

// carriers hold one of GitLab's tokens inside; CI_* must not bring them in by the way, only their full name does.
var carriers = []string{"CI_REPOSITORY_URL", "CI_REGISTRY_PASSWORD", "CI_DEPENDENCY_PROXY_PASSWORD", "CI_DEPLOY_PASSWORD", "CI_JOB_JWT*"}

// Environment makes a command's whole environment from the caller's and the entries of env and --env: NAME,
// NAME=value or PREFIX_*. withheld are the names that the caller has and the command does not get; both are sorted.
func Environment(caller, entries []string) (env, withheld []string) {
	have := map[string]string{}
	for _, e := range caller {
		if name, value := cut(e); name != "" {
			have[name] = value
		}
	}
	given := map[string]string{}
	for _, entry := range entries {
		if name, value, ok := strings.Cut(entry, "="); ok && !matchAny(never, name) {
			given[name] = value
		}
	}
	for name, value := range have {
		if _, set := given[name]; set {
			continue
		}
		if enters(name, entries) {
			given[name] = value
		} else {
			withheld = append(withheld, name)
		}
	}
	for name, value := range given {
		env = append(env, name+"="+value)
	}
	sort.Strings(env)
	sort.Strings(withheld)
	return env, withheld
}

func enters(name string, entries []string) bool {
	if matchAny(never, name) {
		return false
	}
	if matchAny(basics, name) {
		return true
	}
	for _, e := range entries {
		if e == name || (strings.HasSuffix(e, "*") && match(e, name) && !matchAny(carriers, name)) {
			return true
		}
	}
	return false
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return false
}

func match(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// cut splits an environment entry. Windows has names that start with an equals sign; they are nobody's variables.
func cut(entry string) (name, value string) {
	name, value, _ = strings.Cut(entry, "=")
	return name, value
}

func setEnv(c *Config, g given) error {
	var errs []error
	for _, e := range g.words {
		if err := checkEnv(e); err != nil {
			errs = append(errs, err)
			continue
		}
		c.Env = append(c.Env, e)
	}
	return joined(errs)
}

func checkEnv(entry string) error {
	name, _, isPair := strings.Cut(entry, "=")
	prefix, isPrefix := strings.CutSuffix(name, "*")
	switch {
	case isPrefix && isPair:
		return fmt.Errorf("%q: a value needs a whole name, without *", name)
	case isPrefix && prefix == "":
		return errors.New(`"*" would let everything in: name what the tests need, or PREFIX_*`)
	case !isName(prefix):
		return fmt.Errorf("%q is no name of a variable: write NAME, NAME=value or PREFIX_*", name)
	case !isPrefix && matchAny(never, name):
		return fmt.Errorf("%s never enters a sandbox: it is a token or a command file of the CI", name)
	}
	return nil
}

func isName(s string) bool {
	if s == "" || ('0' <= s[0] && s[0] <= '9') {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// joined is one line from several errors, nil from none.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	text := make([]string, len(errs))
	for i, e := range errs {
		text[i] = e.Error()
	}
	return errors.New(strings.Join(text, "; "))
}
