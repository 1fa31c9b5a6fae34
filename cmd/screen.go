package cmd

import (
	"golang.org/x/term"

	"github.com/boxer-ci/boxer/shard"
)

// show decides where and how the run is shown. With --json stdout is the document's alone.
func (o *shardOptions) show() {
	out := o.Out
	if o.call.json {
		out = o.Err
	}
	o.run.Out = out
	ci := o.ci()
	o.run.Fence = ci == "github"
	o.run.Mode = shard.Lines
	// A terminal is no proof of a person: some CI systems give their jobs one.
	if o.inCI() || o.getenv("TERM") == "dumb" || o.getenv("TERM") == "" || !term.IsTerminal(int(out.Fd())) {
		return
	}
	o.run.Mode = shard.Live
	if width, _, err := term.GetSize(int(out.Fd())); err == nil {
		o.run.Width = width
	}
}

// ci is whose log this is. Variables are looked at by value: gitlab-ci-local sets GITLAB_CI=false.
func (o *shardOptions) ci() string {
	switch {
	case o.scoped.CI != "auto":
		return o.scoped.CI
	case o.getenv("GITHUB_ACTIONS") == "true":
		return "github"
	case o.getenv("GITLAB_CI") == "true":
		return "gitlab"
	}
	return "none"
}

func (o *shardOptions) inCI() bool {
	ci := o.getenv("CI")
	return o.ci() != "none" || (ci != "" && ci != "false")
}
