// Package config turns what a person wrote, in flags, BOXER_* variables and boxer.yaml, into one checked value.
//
// It owns the names of all settings, their precedence and their checks, and the rule which of the caller's variables
// enter a sandbox. It reads boxer.yaml and nothing else, starts nothing and prints nothing.
//
// The choice a reader would question: faults are collected, not returned one by one. A reader who mends the first
// line of five, runs again, and is told the second, stops trusting the tool; so every step goes on after a fault and
// Load gives all of them in one error.
package config

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Config is everything a call was told, checked. Where it came from is in Origins.
type Config struct {
	File     string // the file's path, "" where there is none
	Base     string // absolute folder that globs and reports are relative to: the file's, else the called one
	Backend  string // "auto" or a backend's kind
	Env      []string
	Hide     []string // absolute
	Show     []string // absolute
	Services []runner.Service
	Setup    []runner.SetupStep
	Smolvm   runner.MachineConfig
	Shard    Shard
	Color    string // "auto", "always" or "never"
	CI       string // "auto", "none", "github" or "gitlab"
	User     string // "" is who calls
	Origins  []Origin

	Untrusted string    // why the file, if there is one, may be a stranger's; "" is trusted
	Dropped   []Dropped // what of an untrusted file does not count, in the order of the settings
}

// Shard is what only boxer shard reads.
type Shard struct {
	Count      int // 0 is auto
	Node       Node
	Command    []string
	JUnit      []string // globs relative to Config.Base
	Artifacts  []string // globs relative to Config.Base
	Worktree   runner.Worktree
	Timeout    time.Duration // 0 is none
	AllowEmpty string        // "auto", "true" or "false"
	Reruns     string        // "auto" or "never"
	EmptyCodes []int
	Report     string // folder of the reports, absolute

	Tests       []string // globs relative to Config.Base
	TestsFrom   string   // file that lists the tests, absolute, or "-" for stdin
	List        string   // shell line that lists the tests, run in the sandbox
	Null        bool     // what TestsFrom or List give ends with NUL bytes
	Static      bool
	RerunFailed string        // ledger of an earlier run, absolute
	Timings     string        // file, absolute; "" is the usual one
	TimingsFrom []string      // globs of JUnit reports, relative to the called folder
	Parallel    int           // 0 is all
	Retries     int           // from 0 to 10
	MaxRetried  int           // tests
	UnitTimeout time.Duration // 0 is none
	FailOnFlaky bool
	Seed        int // from 1 to 2^32-1; 0 is a random one

	Keep     bool
	Prepare  bool
	FailFast bool
}

// Origin tells where the value of one key comes from, as boxer doctor prints it.
type Origin struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // "default", "boxer.yaml:12", "BOXER_COUNT" or "--count"
}

// From is the source of a key's value, "" if there is no such key.
func (c Config) From(key string) string {
	for _, o := range c.Origins {
		if o.Key == key {
			return o.Source
		}
	}
	return ""
}

// Request is what Load works from.
type Request struct {
	Dir   string // real absolute folder that boxer was called for
	Scope runner.Scope
	File  string              // --config; "" looks upward from Dir
	Env   []string            // the caller's environment
	Flags map[string][]string // values of the flags that were given, by flag name

	Untrusted string // why a file of the worktree may be a stranger's, as the end of a sentence; "" is trusted
}

// Load reads and checks everything. The error is Faults with all that is wrong.
func Load(r Request) (Config, error) {
	l := loader{request: r, cfg: Config{Base: r.Dir}, home: Lookup(r.Env, "HOME")}
	l.judge()
	l.readFile()
	l.distrust()
	for i := range settings {
		l.resolve(&settings[i])
	}
	l.finish()
	return l.cfg, l.faults.Err()
}

type loader struct {
	request Request
	cfg     Config
	home    string
	file    map[string]given // what the file says, by key
	vouched []string         // keys that count from an untrusted file too
	outside bool             // the call names a file that no change can have made
	faults  Faults

	whereIs func(section, key string) string // where a key of a section stands in the file
}

// given is one setting's words and where they stand.
type given struct {
	words  []string
	list   bool // given as a list: words are final, not one line to split
	source string
	fault  error // nobody typed it, and it makes no sense
}

// resolve takes the strongest source of a setting. A weaker one is checked all the same when it is the file: a fault
// in it must not lie in wait until the flag is left out.
func (l *loader) resolve(s *setting) {
	fromFile, inFile := l.file[s.key]
	g, strongest := l.strongest(s)
	if inFile && strongest && g.source != fromFile.source {
		scratch := Config{Base: l.cfg.Base}
		l.apply(s, &scratch, fromFile)
	}
	if s.adds && inFile && strongest && g.source != fromFile.source {
		g.words = append(append([]string(nil), fromFile.words...), g.words...)
		g.source = fromFile.source + ", " + g.source
	}
	l.apply(s, &l.cfg, g)
	l.cfg.Origins = append(l.cfg.Origins, Origin{Key: s.key, Value: s.show(g), Source: g.source})
}

func (l *loader) strongest(s *setting) (g given, found bool) {
	g, found = l.written(s)
	if s.detect != nil && g.last() == "auto" {
		if d, ok := s.detect(l.request.Env); ok {
			return d, true
		}
	}
	return g, found
}

// written is what a person wrote, in whatever place, or the default.
func (l *loader) written(s *setting) (g given, found bool) {
	if g, ok := l.typed(s); ok {
		return g, true
	}
	if g, ok := l.file[s.key]; ok {
		return g, true
	}
	return given{words: s.byDefault, source: "default"}, false
}

// typed is what the call itself says, by a flag or a variable.
func (l *loader) typed(s *setting) (g given, found bool) {
	if v, ok := l.request.Flags[s.flag]; ok && s.flag != "" {
		return given{words: v, list: s.list, source: "--" + s.flag}, true
	}
	if v := Lookup(l.request.Env, s.variable()); s.variable() != "" && v != "" {
		return given{words: s.split(v), list: s.list, source: s.variable()}, true
	}
	return given{}, false
}

func (l *loader) apply(s *setting, c *Config, g given) {
	if g.source == "default" && len(g.words) == 0 {
		return
	}
	if g.fault != nil {
		l.faults.addf(g.source, "%s", g.fault)
		return
	}
	if err := s.set(c, g); err != nil {
		l.faults.addf(g.source, "%s%s", inFile(s.key, g.source), err)
	}
}

// inFile starts a message with the key, where the source is a place in a file and so does not tell it.
func inFile(key, source string) string {
	if strings.HasPrefix(source, "--") || strings.HasPrefix(source, "BOXER_") {
		return ""
	}
	return key + ": "
}

// finish checks what needs more than one setting.
func (l *loader) finish() {
	c := &l.cfg
	if !filepath.IsAbs(c.Shard.Report) {
		base := c.Base
		if l.cfg.From("shard.report") != "default" {
			base = l.request.Dir // a typed path is relative to where it was typed
		}
		c.Shard.Report = filepath.Join(base, c.Shard.Report)
	}
	l.confine()
	for _, path := range []*string{&c.Shard.RerunFailed, &c.Shard.Timings, &c.Shard.TestsFrom} {
		if *path != "" && *path != "-" && !filepath.IsAbs(*path) {
			*path = filepath.Join(l.request.Dir, *path)
		}
	}
	c.Hide = l.absolute("hide", c.Hide)
	c.Show = l.absolute("show", c.Show)
}

// Lookup finds a variable in an environment list; the last one counts, as in a process.
func Lookup(env []string, name string) string {
	value := ""
	for _, e := range env {
		if n, v := cut(e); n == name {
			value = v
		}
	}
	return value
}
