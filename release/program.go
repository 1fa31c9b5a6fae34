package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// target is a platform to build for.
type target struct{ OS, Arch string }

func (t target) String() string { return t.OS + "/" + t.Arch }

// targets are all that is released. On macOS there is no gVisor.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

const (
	program = "./cmd/boxer"
	linked  = "github.com/boxer-ci/boxer/runner" // the package with the variables that the linker sets
)

// compile builds the program for t. What git knows is kept out of it, since it differs between clones with other tags.
func (r *release) compile(ctx context.Context, t target, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	set := "-X " + linked + ".release=v" + r.Version + " -X " + linked + ".commit=" + r.Commit
	_, err = output(r.goTool(ctx, t, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= "+set, "-o", file, program))
	return err
}

// goTool is a call of go with all settled that decides about the bytes of a program.
func (r *release) goTool(ctx context.Context, t target, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = r.Root
	c.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1", "GOARM64=v8.0")
	return c
}
