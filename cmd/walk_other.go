//go:build !linux

package cmd

import "context"

// watchWalk has nothing to watch: only Linux has gVisor.
func (*Signals) watchWalk(context.Context, string) {}
