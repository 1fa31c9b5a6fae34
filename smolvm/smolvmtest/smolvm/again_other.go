//go:build !linux

package main

// startedAgain runs what the program was started as by itself, if it was.
func startedAgain([]string) (code int, handled bool) { return 0, false }
