//go:build linux

package gvisor

import "testing"

func TestAdmits(t *testing.T) {
	t.Parallel()
	const m = 1 << 20
	for _, c := range []struct {
		name                 string
		free, starting, each int64
		want                 bool
	}{
		{"room enough", 200 * m, 0, 100 * m, true},
		{"just enough", 164 * m, 0, 100 * m, true},
		{"into the reserve", 163 * m, 0, 100 * m, false},
		{"others are starting", 200 * m, 100 * m, 100 * m, false},
		{"others leave room", 264 * m, 100 * m, 100 * m, true},
		{"nobody knows", 0, 100 * m, 100 * m, true},
	} {
		if got := admits(c.free, c.starting, c.each); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
