package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Scope is one git worktree, or outside git one folder: the identity that a parent and its children share.
type Scope struct {
	Key      string `json:"key"`      // "sb-" and 12 hex digits of the SHA-256 of Worktree
	Slug     string `json:"slug"`     // two words made from Key: "swift-crab"
	Worktree string `json:"worktree"` // absolute, without symlinks
	Git      bool   `json:"git"`      // a git worktree; else a plain folder
}

// ScopeOf finds the scope that dir lies in.
func ScopeOf(dir string) (Scope, error) {
	real, err := filepath.Abs(dir)
	if err != nil {
		return Scope{}, err
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return Scope{}, err
	}
	for d := real; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return newScope(d, true), nil
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return Scope{}, err
		}
		if d == filepath.Dir(d) {
			return newScope(real, false), nil
		}
	}
}

func newScope(worktree string, git bool) Scope {
	sum := sha256.Sum256([]byte(worktree))
	key := "sb-" + hex.EncodeToString(sum[:6])
	return Scope{Key: key, Slug: slugOf(key), Worktree: worktree, Git: git}
}

// slugOf makes the two words of a key from its first two bytes. Two keys may share a slug; a key is unique.
func slugOf(key string) string {
	b, err := hex.DecodeString(strings.TrimPrefix(key, "sb-"))
	if err != nil || len(b) < 2 {
		panic("not a key: " + key)
	}
	return adjectives[b[0]%64] + "-" + animals[b[1]%64]
}

// Kind says what the scope is, for messages: "worktree" or "folder".
func (s Scope) Kind() string {
	if s.Git {
		return "worktree"
	}
	return "folder"
}

// String names the scope as refusals do: "swift-crab (sb-7e1852e4a3c3, worktree)".
func (s Scope) String() string { return fmt.Sprintf("%s (%s, %s)", s.Slug, s.Key, s.Kind()) }

// Child names the scope's child with the index.
func (s Scope) Child(index int) Child {
	suffix := "-f" + strconv.Itoa(index)
	return Child{Key: s.Key + suffix, Slug: s.Slug + suffix, Index: index}
}

// ChildIndex reads a child's name, in key or slug form. ok is false for any other text, the parent's name included.
func (s Scope) ChildIndex(name string) (index int, ok bool) {
	rest, found := strings.CutPrefix(name, s.Key+"-f")
	if !found {
		rest, found = strings.CutPrefix(name, s.Slug+"-f")
	}
	n, err := strconv.Atoi(rest)
	if !found || err != nil || n < 1 || strconv.Itoa(n) != rest {
		return 0, false
	}
	return n, true
}

// Names tells whether name is the parent's, in key or slug form.
func (s Scope) Names(name string) bool { return name == s.Key || name == s.Slug }

var adjectives = [64]string{
	"able", "amber", "apt", "bold", "brave", "brief", "bright", "brisk", "calm", "civil", "clear", "clever", "cool",
	"cosy", "crisp", "daring", "deft", "eager", "early", "easy", "fair", "fine", "firm", "fleet", "fond", "frank",
	"fresh", "gentle", "glad", "golden", "good", "grand", "great", "happy", "hardy", "honest", "jolly", "keen", "kind",
	"light", "lively", "loyal", "lucky", "mellow", "merry", "mild", "neat", "nimble", "noble", "plain", "proud",
	"quick", "quiet", "rapid", "ready", "robust", "sharp", "silent", "snug", "sound", "spry", "steady", "swift", "warm",
}

var animals = [64]string{
	"ant", "badger", "bat", "bear", "beaver", "bee", "bison", "boar", "camel", "carp", "cat", "clam", "cod", "colt",
	"condor", "coot", "cow", "coyote", "crane", "cricket", "crow", "cub", "deer", "dingo", "crab", "dove", "duck",
	"eagle", "eel", "egret", "elk", "falcon", "ferret", "finch", "fox", "frog", "gecko", "goat", "goose", "gull",
	"hare", "hawk", "heron", "horse", "ibex", "jay", "koala", "lark", "lion", "llama", "lynx", "mole", "moose",
	"moth", "newt", "otter", "owl", "panda", "puma", "quail", "raven", "seal", "stork", "toad",
}
