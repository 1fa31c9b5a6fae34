//go:build !unix

package cmd

import "os"

var forwarded = []os.Signal{}
