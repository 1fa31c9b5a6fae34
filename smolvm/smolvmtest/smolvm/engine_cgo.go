//go:build linux && cgo

package main

// engine does nothing: gVisor works only in a binary that was built without cgo.
func engine([]string) {}
