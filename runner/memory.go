package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FreeMemory is what can still be used on this machine, or in the container that boxer runs in if that is less; 0
// where the system does not tell. root is "/" except in tests.
func FreeMemory(root string) int64 {
	free := availableMemory(filepath.Join(root, "proc/meminfo"))
	for _, g := range []struct{ limit, used string }{
		{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"},
		{"sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, used := number(filepath.Join(root, g.limit)), number(filepath.Join(root, g.used))
		if limit > 0 && used > 0 && (free == 0 || limit-used < free) {
			free = max(limit-used, 1)
		}
	}
	return free
}

func availableMemory(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, line := range bytes.Split(b, []byte("\n")) {
		if f := strings.Fields(string(line)); len(f) >= 2 && f[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// number reads a file with one number; "max" and everything else is 0.
func number(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}
