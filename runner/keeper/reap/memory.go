package reap

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident is what of a process is in memory, in bytes.
type Resident struct {
	Anon  int64 // its own
	Files int64 // pages of files that it maps, which others may map too
	Shmem int64 // memory files and the like
}

// ResidentOf reads the memory of a process; all is 0 if it is gone, or where there is no process table to look it up.
// https://docs.kernel.org/filesystems/proc.html (Rss* of /proc/PID/status)
func ResidentOf(pid int) Resident {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Resident{}
	}
	var r Resident
	fields := map[string]*int64{"RssAnon": &r.Anon, "RssFile": &r.Files, "RssShmem": &r.Shmem}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if field := fields[name]; field != nil {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			*field = kib << 10
		}
	}
	return r
}
