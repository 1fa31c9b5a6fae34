package reap

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Stat is one line of the process table.
type Stat struct {
	PID, PPID, PGID, SID int
	State                byte   // 'Z' and 'X' have ended
	Start                string // when it started, as the kernel tells it
}

// Over tells whether the process has ended and only waits to be reaped.
func (s Stat) Over() bool { return s.State == 'Z' || s.State == 'X' }

// StatOf reads the table's line for one process.
func StatOf(pid int) (Stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(pid, b)
}

// parseStat starts behind the last parenthesis, for a program's name may hold spaces and parentheses itself.
func parseStat(pid int, b []byte) (Stat, error) {
	end := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[end+1:]))
	if end < 0 || len(f) < 20 {
		return Stat{}, fmt.Errorf("stat of process %d: %q", pid, b)
	}
	s := Stat{PID: pid, State: f[0][0], Start: f[19]}
	for i, to := range []*int{&s.PPID, &s.PGID, &s.SID} {
		n, err := strconv.Atoi(f[1+i])
		if err != nil {
			return Stat{}, fmt.Errorf("stat of process %d: %w", pid, err)
		}
		*to = n
	}
	return s, nil
}

// Processes reads the whole table. A process that ends meanwhile is left out; without a /proc it is an error.
func Processes() ([]Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []Stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := StatOf(pid); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

func zombiesOf(parent int) []int {
	all, _ := Processes() // without a table orphans wait until the hold is over
	var pids []int
	for _, s := range all {
		if s.PPID == parent && s.Over() {
			pids = append(pids, s.PID)
		}
	}
	return pids
}
