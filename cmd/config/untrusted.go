package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// Dropped is what an untrusted file says and what does not count. Each can be had by the call itself.
type Dropped struct {
	Key    string   `json:"key"`
	Values []string `json:"values"` // of env the names alone
	Source string   `json:"source"` // "boxer.yaml:12"
	Effect string   `json:"effect"` // what happens instead, for people
	Fix    string   `json:"fix"`    // the flag by which a workflow lets it count
}

// guarded are the keys by which a file could give its commands more than what lies in a sandbox: no isolation, the
// caller's variables, hidden places, the real worktree, the host's files as an image, the network. All others only
// say what happens inside, or where in the worktree files are looked for.
var guarded = []string{"backend", "env", "show", "shard.worktree", "smolvm.image", "smolvm.network"}

// The words of --trust that are no keys.
const (
	trustAuto = "auto" // as the CI system says
	trustAll  = "all"  // the workflow answers for the file
	trustNone = "none" // the file is a stranger's, whatever the CI system says
)

func setTrust(c *Config, g given) error {
	allowed := append([]string{trustAuto, trustAll, trustNone}, guarded...)
	for _, word := range trustWords(g) {
		if !slices.Contains(allowed, word) {
			return notOneOf(word, allowed)
		}
	}
	return nil
}

func trustWords(g given) []string {
	var out []string
	for _, word := range strings.Split(strings.Join(g.words, ","), ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// judge decides, before the file is looked for, whether one that lies in the worktree is trusted.
func (l *loader) judge() {
	g, typed := l.typed(settingOf("trust"))
	l.vouched = trustWords(g)
	switch l.cfg.Untrusted = l.request.Untrusted; {
	case !typed:
	case slices.Contains(l.vouched, trustAll):
		l.cfg.Untrusted = ""
	case slices.Contains(l.vouched, trustNone):
		l.cfg.Untrusted = g.source + " says so"
	}
}

// named notes that the call names a file. The change has not made one that no step on the way to it lies in the
// worktree: a symlink in there, to wherever, is the change's.
func (l *loader) named(path string) {
	for p := path; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err != nil || within(l.request.Scope.Worktree, real) {
			return
		}
		if p == filepath.Dir(p) {
			break
		}
	}
	l.outside = true
	if !slices.Contains(l.vouched, trustNone) {
		l.cfg.Untrusted = ""
	}
}

// leadsOut refuses an untrusted file that is a symlink to a place outside the worktree or to git's own files. boxer
// would read there what the sandbox may not see, and quote it in its complaints.
func (l *loader) leadsOut(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if l.cfg.Untrusted == "" || l.outside || err != nil {
		return false
	}
	rel, err := filepath.Rel(l.request.Scope.Worktree, real)
	if err == nil && filepath.IsLocal(rel) && !slices.Contains(strings.Split(rel, "/"), ".git") {
		return false
	}
	l.refuse(l.displayName(path), "is a symlink that leaves the "+l.request.Scope.Kind(), "--config FILE")
	return true
}

// refuse adds a fault that is one of the file and of who may have written it.
func (l *loader) refuse(where, what, flag string) {
	e := &runner.Error{
		Reason: fmt.Sprintf("%s: %s, and the file is not trusted: %s", where, what, l.cfg.Untrusted), Cause: runner.UntrustedConfig,
	}
	l.faults = append(l.faults, Fault{
		Where: where, What: fmt.Sprintf("%s, and the file is not trusted (%s): %s", what, l.cfg.Untrusted, flag),
		Refusal: e.At(l.request.Scope), Flag: flag,
	})
}

// distrust takes out of an untrusted file what it may not say, so that everything after it goes as if it were not there.
func (l *loader) distrust() {
	if l.cfg.Untrusted == "" {
		return
	}
	if g, ok := l.doubtful("backend"); ok && g.last() == "host" {
		l.refuse(g.source, "backend: host gives up all isolation", "--backend auto")
	}
	l.drop(Dropped{Key: "env", Effect: "not let in", Fix: "--env NAME"}, letsIn)
	l.drop(Dropped{Key: "show", Effect: "stays hidden", Fix: "--trust show"}, func(string) bool { return true })
	l.drop(Dropped{Key: "shard.worktree", Effect: "private instead", Fix: "--worktree shared"}, func(word string) bool { return word == "shared" })
	l.distrustMachine(&l.cfg.Smolvm)
}

// doubtful is what the file says of a guarded key that the call says nothing of.
func (l *loader) doubtful(key string) (given, bool) {
	g, ok := l.file[key]
	s := settingOf(key)
	if _, typed := l.typed(s); typed && !s.adds {
		ok = false
	}
	return g, ok && !slices.Contains(l.vouched, key)
}

// drop takes those words of d's key that widen out of the file, and notes d but for what the call says as well.
func (l *loader) drop(d Dropped, widens func(word string) bool) {
	g, ok := l.doubtful(d.Key)
	if !ok {
		return
	}
	typed, _ := l.typed(settingOf(d.Key))
	var kept []string
	for _, w := range g.words {
		switch {
		case !widens(w):
			kept = append(kept, w)
		case !slices.Contains(typed.words, w):
			d.Values = append(d.Values, w)
		}
	}
	d.Source, g.words = g.source, kept
	l.file[d.Key] = g
	if len(kept) == 0 {
		delete(l.file, d.Key)
	}
	if len(d.Values) > 0 {
		l.cfg.Dropped = append(l.cfg.Dropped, d)
	}
}

// letsIn tells whether an entry of env brings in a variable of the caller that would not enter by itself. A value
// that stands in the file tells nothing about the caller, and an entry that makes no sense is a fault as ever.
func letsIn(entry string) bool {
	return !strings.Contains(entry, "=") && checkEnv(entry) == nil && !matchAny(basics, entry)
}

// distrustMachine leaves of the smolvm section what stays inside a machine. An image may be a folder or an archive of
// the host, and then shows its files; one of a registry is what anybody can have.
func (l *loader) distrustMachine(m *runner.MachineConfig) {
	if m.Image != "" && !l.ofRegistry(m.Image) && !slices.Contains(l.vouched, "smolvm.image") {
		l.dropOfMachine("image", m.Image, "not used")
		m.Image = ""
	}
	if m.Network && !slices.Contains(l.vouched, "smolvm.network") {
		l.dropOfMachine("network", "true", "no network")
		m.Network = false
	}
}

func (l *loader) dropOfMachine(key, value, effect string) {
	l.cfg.Dropped = append(l.cfg.Dropped, Dropped{
		Key: "smolvm." + key, Values: []string{value}, Source: l.whereIs("smolvm", key), Effect: effect, Fix: "--trust smolvm." + key,
	})
}

var (
	imageReference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*([._:@/][a-zA-Z0-9_-]+)*$`)
	archive        = regexp.MustCompile(`(?i)\.(tar|gz|tgz|xz|zst|smolmachine)$`)
)

// ofRegistry tells whether an image can be nothing but a name in a registry: neither a path nor an archive, and no
// file of that name lies where one could be meant.
func (l *loader) ofRegistry(image string) bool {
	for _, dir := range []string{l.request.Dir, l.cfg.Base, l.request.Scope.Worktree} {
		if _, err := os.Lstat(filepath.Join(dir, image)); err == nil {
			return false
		}
	}
	return imageReference.MatchString(image) && !archive.MatchString(image)
}

func settingOf(key string) *setting {
	for i := range settings {
		if settings[i].key == key {
			return &settings[i]
		}
	}
	return nil
}
