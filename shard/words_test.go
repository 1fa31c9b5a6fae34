package shard

import (
	"syscall"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Error(got)
		}
	}
	for d, want := range map[time.Duration]string{1234 * time.Millisecond: "1.2 s", 61 * time.Second: "1m1s"} {
		if got := seconds(d); got != want {
			t.Error(got)
		}
	}
	for s, want := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", 63: "signal 63", 0: "signal 0", -1: "signal -1"} {
		if got := signalName(s); got != want {
			t.Error(got)
		}
	}
}
