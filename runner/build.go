package runner

import (
	"regexp"
	"runtime/debug"
)

// Set by the linker in released binaries, which are built without asking git.
var release, commit string

// Build says from what this binary was built.
type Build struct {
	Version string // "v0.1.0"; what the Go toolchain recorded where it is no release; else "devel"
	Commit  string // whole, or as much of it as is known; else "unknown"
	GVisor  string // the version linked in; "" where none is
}

// ThisBuild is that of the running binary.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, release, commit)
}

// pseudo is the version that Go gives a commit without a tag; it ends with the first digits of the commit.
var pseudo = regexp.MustCompile(`[-.][0-9]{14}-([0-9a-f]{12})(\+|$)`)

func buildOf(info *debug.BuildInfo, release, commit string) Build {
	b := Build{Version: release, Commit: commit}
	recorded := info.Main.Version
	if b.Version == "" && recorded != "" && recorded != "(devel)" {
		b.Version = recorded
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	if found := pseudo.FindStringSubmatch(recorded); found != nil && b.Commit == "" {
		b.Commit = found[1]
	}
	for _, m := range info.Deps {
		if m.Path == "gvisor.dev/gvisor" {
			b.GVisor = m.Version
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Commit == "" {
		b.Commit = "unknown"
	}
	return b
}
