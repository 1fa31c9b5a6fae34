// Package pack is the file that carries a prepared sandbox between hosts: what it changed over the host, or the machine
// in its backend's own format, compressed, behind a manifest that says what it is and what its bytes must add up to.
//
// It owns the format, the folder of named packs, and the rule for what a pack may hold. It may touch pack files and
// nothing else; where their content comes from and goes to is a backend's work. It must never trust a pack: it comes
// out of a CI cache, or from somebody else.
//
// The choice a reader would question: the manifest has a fixed room at the front of the file and the content is hashed
// as it lies on disk, compressed. So a pack is written in one go without being copied, `zstd -d | tar t` still reads
// it, and no byte is decompressed before the digest of all of them was found right.
package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// format numbers what a pack's bytes mean. A pack with a higher one than this is refused.
const format = 1

const (
	kind         = "boxer-pack"
	manifestName = "manifest.json"
	// room is what the manifest has at the front: its own compressed frame, filled up with one that readers skip.
	room = 64 << 10
)

// Manifest is what a pack says of itself. No path in it is absolute.
type Manifest struct {
	Kind    string    `json:"kind"` // "boxer-pack"
	Schema  int       `json:"schema"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Boxer   string    `json:"boxer"`  // version
	GVisor  string    `json:"gvisor"` // version of the module, "" where another backend made the pack
	OS      string    `json:"os"`
	Arch    string    `json:"arch"`
	System  string    `json:"system"` // the host's distribution, "debian 12"; "" is unknown
	Backend string    `json:"backend"`
	Of      string    `json:"of"`       // name of the worktree's folder
	LastPID int       `json:"last_pid"` // no process of a sandbox started from it may be taken for one of those it was made from
	Config  Config    `json:"config"`

	Root     runner.PackCount  `json:"root"`     // of a machine in a format of its own: that file
	Worktree *runner.PackCount `json:"worktree"` // null: the sandbox had the live one
	Body     body              `json:"body"`
}

// Size is the length of the pack's file in bytes.
func (m Manifest) Size() int64 { return room + m.Body.Bytes }

// body is all that follows the manifest's room.
type body struct {
	Bytes    int64  `json:"bytes"`    // in the file
	Unpacked int64  `json:"unpacked"` // of the tar stream
	SHA256   string `json:"sha256"`   // of the bytes in the file
}

// Config is what the packed sandbox was prepared by, in hashes: boxer.yaml is nobody else's business.
type Config struct {
	Hash     string `json:"hash"` // of the rest
	Dir      string `json:"dir"`  // where services and setup start, relative to the worktree
	Services []part `json:"services"`
	Setup    []part `json:"setup"`
}

// part is one service or one setup command.
type part struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// ConfigOf describes the spec of a sandbox of the worktree. Time limits are left out: they prepare nothing.
func ConfigOf(spec runner.Spec, worktree string) Config {
	dir, err := filepath.Rel(worktree, spec.Dir)
	if err != nil {
		dir = "."
	}
	c := Config{Dir: filepath.ToSlash(dir), Services: []part{}, Setup: []part{}}
	for _, s := range spec.Services {
		s.Timeout = 0
		c.Services = append(c.Services, part{s.Name, hashOf(s)})
	}
	for i, s := range spec.Setup {
		s.Timeout = 0
		c.Setup = append(c.Setup, part{fmt.Sprint(i + 1), hashOf(s)})
	}
	c.Hash = hashOf(c)
	return c
}

func hashOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data always marshals
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Differences says in what the configuration now differs from the one of the pack; nothing if they are the same.
func (c Config) Differences(now Config) []string {
	var out []string
	if c.Dir != now.Dir {
		out = append(out, fmt.Sprintf("services and setup start in %s, not in %s", now.Dir, c.Dir))
	}
	out = append(out, differences("service", c.Services, now.Services)...)
	out = append(out, differences("setup command", c.Setup, now.Setup)...)
	if len(out) == 0 && c.Hash != now.Hash {
		out = append(out, "the services are in another order")
	}
	return out
}

func differences(what string, packed, now []part) []string {
	var out []string
	named := func(name string) func(part) bool { return func(p part) bool { return p.Name == name } }
	for _, p := range packed {
		if i := slices.IndexFunc(now, named(p.Name)); i < 0 {
			out = append(out, fmt.Sprintf("%s %s is in the pack and no longer in the configuration", what, p.Name))
		} else if now[i].Hash != p.Hash {
			out = append(out, fmt.Sprintf("%s %s is another one than in the pack", what, p.Name))
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(packed, named(n.Name)) {
			out = append(out, fmt.Sprintf("%s %s is new since the pack", what, n.Name))
		}
	}
	return out
}

// check refuses a manifest that this boxer cannot make sense of.
func (m Manifest) check() error {
	switch {
	case m.Kind != kind:
		return &runner.Error{Reason: "this is no pack of boxer's", Cause: runner.NotAPack}
	case m.Schema > format:
		return &runner.Error{
			Reason: fmt.Sprintf("the pack has format %d, made by boxer %s, and this boxer reads up to format %d", m.Schema, m.Boxer, format),
			Cause:  runner.PackTooNew,
		}
	case m.Schema < 1 || m.Body.Bytes < 0 || m.Body.Unpacked < 1 || len(m.Body.SHA256) != sha256.Size*2 || strings.ContainsAny(m.Of, "/\x00"):
		return damaged("its manifest makes no sense")
	}
	return nil
}

func damaged(how string) *runner.Error {
	return &runner.Error{Reason: "the pack is damaged: " + how, Cause: runner.PackDamaged}
}
