package cmd

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/runner"
)

type versionOptions struct{ deps }

func newVersion(d deps, run func(context.Context, versionOptions) error) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the versions of boxer and of what is linked into it"}
	d.answers(c.Flags())
	c.RunE = action(d, noArgs, func(ctx context.Context) error { return run(ctx, versionOptions{d}) })
	return c
}

// versions is the document of version --json.
type versions struct {
	Schema   int    `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	GVisor   string `json:"gvisor"` // "" where it is not linked in
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func runVersion(_ context.Context, o versionOptions) error {
	v := version()
	gvisor := v.GVisor
	if gvisor == "" {
		gvisor = "not linked in"
	}
	return o.answer(v, "boxer "+v.Version, "commit "+v.Commit, "gvisor "+gvisor, fmt.Sprintf("%s %s", v.Go, v.Platform))
}

func version() versions {
	b := runner.ThisBuild()
	return versions{
		Schema: schema, Version: b.Version, Commit: b.Commit, GVisor: b.GVisor,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
