package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// setting is one thing that people can set in up to three places.
type setting struct {
	key       string // in the file, and everywhere in messages
	flag      string // "" where there is no flag, and so no variable
	fileless  bool   // not accepted in the file
	list      bool   // takes several words
	adds      bool   // flags and variables add to the file instead of replacing it
	byDefault []string
	set       func(c *Config, g given) error
	detect    func(env []string) (given, bool) // what "auto" finds out; nil where it finds out nothing
}

// settings is the one table of names. The variable's name follows from the flag's.
var settings = []setting{
	{key: "backend", flag: "backend", byDefault: []string{"auto"},
		set: choice(func(c *Config) *string { return &c.Backend }, "auto", "gvisor", "host", "smolvm")},
	{key: "env", flag: "env", list: true, adds: true, set: setEnv},
	{key: "hide", list: true, set: words(func(c *Config) *[]string { return &c.Hide })},
	{key: "show", list: true, set: words(func(c *Config) *[]string { return &c.Show })},
	{key: "setup", flag: "setup", fileless: true, list: true, set: setSetup}, // in the file a section of its own
	{key: "user", flag: "user", fileless: true, set: text(func(c *Config) *string { return &c.User })},
	{key: "trust", flag: "trust", fileless: true, list: true, byDefault: []string{"auto"}, set: setTrust},
	{key: "color", flag: "color", fileless: true, byDefault: []string{"auto"},
		set: choice(func(c *Config) *string { return &c.Color }, "auto", "always", "never")},
	{key: "ci", flag: "ci", fileless: true, byDefault: []string{"auto"},
		set: choice(func(c *Config) *string { return &c.CI }, "auto", "none", "github", "gitlab")},
	{key: "shard.count", flag: "count", byDefault: []string{"auto"}, set: setCount},
	{key: "shard.node", flag: "node", fileless: true, byDefault: []string{"auto"}, set: setNode, detect: detectNode},
	{key: "shard.command", flag: "command", list: true, set: setCommand},
	{key: "shard.junit", flag: "junit", list: true, set: globs(func(c *Config) *[]string { return &c.Shard.JUnit })},
	{key: "shard.artifacts", flag: "artifacts", list: true,
		set: globs(func(c *Config) *[]string { return &c.Shard.Artifacts })},
	{key: "shard.worktree", flag: "worktree", byDefault: []string{"private"}, set: setWorktree},
	{key: "shard.tests", flag: "tests", list: true, set: globs(func(c *Config) *[]string { return &c.Shard.Tests })},
	{key: "shard.tests_from", flag: "tests-from", fileless: true, set: text(func(c *Config) *string { return &c.Shard.TestsFrom })},
	{key: "shard.list", flag: "list", set: text(func(c *Config) *string { return &c.Shard.List })},
	{key: "shard.null", flag: "null", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.Null })},
	{key: "shard.static", flag: "static", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.Static })},
	{key: "shard.rerun_failed", flag: "rerun-failed", fileless: true, set: text(func(c *Config) *string { return &c.Shard.RerunFailed })},
	{key: "shard.timings", flag: "timings", fileless: true, set: text(func(c *Config) *string { return &c.Shard.Timings })},
	{key: "shard.timings_from", flag: "timings-from", fileless: true, list: true,
		set: globs(func(c *Config) *[]string { return &c.Shard.TimingsFrom })},
	{key: "shard.parallel", flag: "parallel", fileless: true, byDefault: []string{"0"},
		set: number(func(c *Config) *int { return &c.Shard.Parallel }, "children at work at once", MaxCount)},
	{key: "shard.retries", flag: "retries", byDefault: []string{"0"},
		set: number(func(c *Config) *int { return &c.Shard.Retries }, "retries", maxRetries)},
	{key: "shard.max_retried", flag: "max-retried", fileless: true, byDefault: []string{"10"},
		set: number(func(c *Config) *int { return &c.Shard.MaxRetried }, "tests to retry", 1_000_000)},
	{key: "shard.fail_on_flaky", flag: "fail-on-flaky", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.FailOnFlaky })},
	{key: "shard.unit_timeout", flag: "unit-timeout", byDefault: []string{"0"},
		set: period(func(c *Config) *time.Duration { return &c.Shard.UnitTimeout })},
	{key: "shard.seed", flag: "seed", fileless: true, byDefault: []string{"0"},
		set: number(func(c *Config) *int { return &c.Shard.Seed }, "a seed", math.MaxUint32)},
	{key: "shard.timeout", flag: "timeout", byDefault: []string{"0"},
		set: period(func(c *Config) *time.Duration { return &c.Shard.Timeout })},
	{key: "shard.allow_empty", flag: "allow-empty", byDefault: []string{"auto"},
		set: choice(func(c *Config) *string { return &c.Shard.AllowEmpty }, "auto", "true", "false")},
	{key: "shard.reruns", flag: "reruns", byDefault: []string{"auto"},
		set: choice(func(c *Config) *string { return &c.Shard.Reruns }, "auto", "never")},
	{key: "shard.empty_exit_codes", flag: "empty-exit-codes", list: true, set: setCodes},
	{key: "shard.report", flag: "report", fileless: true, byDefault: []string{"boxer-report"},
		set: text(func(c *Config) *string { return &c.Shard.Report })},
	{key: "shard.keep", flag: "keep", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.Keep })},
	{key: "shard.prepare", flag: "prepare", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.Prepare })},
	{key: "shard.fail_fast", flag: "fail-fast", fileless: true, byDefault: []string{"false"},
		set: truth(func(c *Config) *bool { return &c.Shard.FailFast })},
}

// variable is the name of the environment variable: --fail-fast is BOXER_FAIL_FAST.
func (s *setting) variable() string {
	if s.flag == "" {
		return ""
	}
	return variableOf(s.flag)
}

func variableOf(flag string) string {
	return "BOXER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FileVariable names the file as --config does.
const FileVariable = "BOXER_CONFIG"

// others are variables of the same prefix that are no settings: what boxer reads elsewhere, and what it sets in
// children, where boxer may run again.
var others = []string{
	FileVariable, "BOXER_TMP", "BOXER_SHARD_INDEX", "BOXER_SHARD_TOTAL", "BOXER_CHILD", "BOXER_SEED",
}

// Ignored are the variables that start like boxer's and mean nothing to it, each with the one that was probably
// meant. They are no fault: other tools may use the prefix.
func Ignored(env []string) []string {
	known := append([]string(nil), others...)
	for i := range settings {
		if v := settings[i].variable(); v != "" {
			known = append(known, v)
		}
	}
	var out []string
	for _, e := range env {
		name, _ := cut(e)
		if strings.HasPrefix(name, "BOXER_") && !slices.Contains(known, name) {
			out = append(out, name+Meant(name, known))
		}
	}
	slices.Sort(out)
	return out
}

// split reads a variable: lists have one entry per line, as CI systems pass them; blank lines are left out.
func (s *setting) split(value string) []string {
	if !s.list {
		return []string{value}
	}
	var out []string
	for _, line := range strings.Split(value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// show prints a value for people, without secrets.
func (s *setting) show(g given) string {
	shown := make([]string, len(g.words))
	for i, w := range g.words {
		shown[i] = w
		if name, _, isPair := strings.Cut(w, "="); s.key == "env" && isPair && Sensitive(name) {
			shown[i] = name + "=" + Mask
		}
	}
	return strings.Join(shown, " ")
}

func text(field func(*Config) *string) func(*Config, given) error {
	return func(c *Config, g given) error {
		*field(c) = g.last()
		return nil
	}
}

func words(field func(*Config) *[]string) func(*Config, given) error {
	return func(c *Config, g given) error {
		*field(c) = append([]string(nil), g.words...)
		return nil
	}
}

func choice(field func(*Config) *string, allowed ...string) func(*Config, given) error {
	return func(c *Config, g given) error {
		for _, a := range allowed {
			if g.last() == a {
				*field(c) = a
				return nil
			}
		}
		return notOneOf(g.last(), allowed)
	}
}

func truth(field func(*Config) *bool) func(*Config, given) error {
	return func(c *Config, g given) error {
		switch g.last() {
		case "true", "1", "yes":
			*field(c) = true
		case "false", "0", "no":
			*field(c) = false
		default:
			return notOneOf(g.last(), []string{"true", "false"})
		}
		return nil
	}
}

// last is the value of a setting that takes one: a repeated flag counts as its last, as everywhere.
func (g given) last() string {
	if len(g.words) == 0 {
		return ""
	}
	return g.words[len(g.words)-1]
}

func setWorktree(c *Config, g given) error {
	switch g.last() {
	case "private":
		c.Shard.Worktree = runner.Private
	case "shared":
		c.Shard.Worktree = runner.Live
	default:
		return notOneOf(g.last(), []string{"private", "shared"})
	}
	return nil
}

// setSetup puts the lines of a flag or variable in the place of what the file says.
func setSetup(c *Config, g given) error {
	if inFile("setup", g.source) != "" {
		return nil // read already, with users and time limits
	}
	c.Setup = nil
	for _, line := range g.words {
		if strings.TrimSpace(line) == "" {
			return errors.New("a setup line is empty")
		}
		c.Setup = append(c.Setup, runner.SetupStep{Run: line})
	}
	return nil
}

func period(field func(*Config) *time.Duration) func(*Config, given) error {
	return func(c *Config, g given) error {
		d, err := duration(g.last())
		*field(c) = d
		return err
	}
}

// number reads one from 0 to most; what says of what.
func number(field func(*Config) *int, what string, most int) func(*Config, given) error {
	return func(c *Config, g given) error {
		n, err := strconv.Atoi(g.last())
		if err != nil || n < 0 || n > most {
			return fmt.Errorf("%q is no number of %s: it must be from 0 to %d", g.last(), what, most)
		}
		*field(c) = n
		return nil
	}
}

// duration reads what time.ParseDuration reads, and days are nobody's time limit.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, badDuration(s)
	case d < 0:
		return 0, badDuration(s)
	}
	return d, nil
}
