package runner

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	const hash = "0123456789abcdef0123456789abcdef01234567"
	git := []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: "true"}}
	gvisor := []*debug.Module{{Path: "golang.org/x/sys", Version: "v0.1.0"}, {Path: "gvisor.dev/gvisor", Version: "v0.0.0-1"}}
	for _, c := range []struct {
		name            string
		main            string
		settings        []debug.BuildSetting
		deps            []*debug.Module
		release, commit string
		want            Build
	}{
		{"a release", "(devel)", nil, gvisor, "v1.2.3", hash, Build{"v1.2.3", hash, "v0.0.0-1"}},
		{"a release says of itself what it is", "v0.0.0-1+dirty", git, nil, "v1.2.3", "fedc", Build{"v1.2.3", "fedc", ""}},
		{"go install of a tag", "v1.2.3", nil, gvisor, "", "", Build{"v1.2.3", "unknown", "v0.0.0-1"}},
		{"go install of a commit before any tag", "v0.0.0-20261130101112-0123456789ab", nil, nil, "", "",
			Build{"v0.0.0-20261130101112-0123456789ab", "0123456789ab", ""}},
		{"go install of a commit after a tag", "v1.2.4-0.20261130101112-0123456789ab", nil, nil, "", "",
			Build{"v1.2.4-0.20261130101112-0123456789ab", "0123456789ab", ""}},
		{"go build in a clone with changes", "v0.0.0-20261130101112-0123456789ab+dirty", git, nil, "", "",
			Build{"v0.0.0-20261130101112-0123456789ab+dirty", hash, ""}},
		{"go build without git", "(devel)", nil, nil, "", "", Build{"devel", "unknown", ""}},
		{"nothing known", "", nil, nil, "", "", Build{"devel", "unknown", ""}},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings, Deps: c.deps}
		if got := buildOf(info, c.release, c.commit); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
