//go:build !linux

package smolvmtest

import (
	"errors"

	"github.com/boxer-ci/boxer/runner"
)

var errLinux = errors.New("the stand-in's machines run on Linux only")

func newBackend(runner.Dirs) (backend, error) { return nil, errLinux }

func startProcess(string) (process, error) { return process{}, errLinux }

func (process) alive() bool { return false }

func (process) kill() {}
