package shard

import (
	"syscall"
	"testing"
)

func TestSignalName(t *testing.T) {
	t.Parallel()
	for s, want := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", 63: "signal 63", 0: "signal 0", -1: "signal -1"} {
		if got := signalName(s); got != want {
			t.Error(got)
		}
	}
}
