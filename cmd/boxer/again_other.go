//go:build !linux

package main

import "github.com/boxer-ci/boxer/runner/host"

// startedAgain runs what boxer was started as by itself, if it was.
func startedAgain(args []string) (code int, handled bool) { return host.Main(args) }
