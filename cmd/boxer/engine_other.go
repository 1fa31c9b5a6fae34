//go:build !linux || cgo

package main

// engine is not part of this binary.
func engine([]string) {}
