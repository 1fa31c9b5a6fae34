package text

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Error(got)
		}
	}
	for d, want := range map[time.Duration]string{1234 * time.Millisecond: "1.2 s", 61 * time.Second: "1m1s"} {
		if got := Seconds(d); got != want {
			t.Error(got)
		}
	}
}
