package cmd

import "testing"

func TestAutoCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cores  int
		memory int64
		want   int
	}{
		{8, 0, 8}, {8, 64 << 30, 8}, {8, 2 << 30, 4}, {8, 100 << 20, 1}, {1, 64 << 30, 1},
	} {
		if got := autoCount(c.cores, c.memory); got != c.want {
			t.Errorf("%d cores, %d bytes: %d, want %d", c.cores, c.memory, got, c.want)
		}
	}
}
