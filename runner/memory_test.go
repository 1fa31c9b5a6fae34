package runner

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFreeMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal: 8 kB\nMemAvailable:    4096 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"unknown", nil, 0},
		{"machine", map[string]string{"proc/meminfo": meminfo}, 4096 << 10},
		{"container", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "3000\n", "sys/fs/cgroup/memory.current": "1000\n"}, 2000},
		{"container without limit", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "1000\n"}, 4096 << 10},
		{"container that is full", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "900", "sys/fs/cgroup/memory.current": "1000"}, 1},
		{"first cgroup version", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "5000", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000"}, 4000},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := FreeMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
