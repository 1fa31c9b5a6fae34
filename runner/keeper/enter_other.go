//go:build unix && !linux

package keeper

import (
	"context"
	"errors"
	"syscall"
	"time"
)

const sweepTime = 10 * time.Second

// There is no guard where orphans cannot be adopted: a keeper that is killed leaves its process groups behind.
func guarded(Rung) bool { return false }

func cleanupOf(Rung) string { return bestEffort }

func enter(setup) error { return nil }

func attributes(set setup) (*syscall.SysProcAttr, error) {
	if set.Rung != Bare {
		return nil, errors.New("this system has no namespaces")
	}
	return &syscall.SysProcAttr{Setsid: true}, nil
}

// killOffspring leaves it to the engine, which knows its process groups: there is no process table to read.
func killOffspring(context.Context) error { return nil }

func guard(setup) error { return errors.New("no guard on this system") }

func missing(error) string { return "" }
