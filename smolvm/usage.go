package smolvm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
)

// Resources is List with the memory and disk of each.
func (s *Session) Resources(ctx context.Context) ([]runner.Sandbox, error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := s.guests.program.list(ctx)
	if err != nil {
		return nil, s.at(err)
	}
	for i := range all {
		for _, m := range machines {
			if m.Name == all[i].Key && m.lives() {
				all[i].Usage = s.usage(ctx, m)
			}
		}
	}
	return all, nil
}

// usage is what can be seen of a machine from outside: the memory of its process and the blocks of its folder. What
// cannot be seen is 0.
func (s *Session) usage(ctx context.Context, m machine) runner.Usage {
	u := memoryOf(*m.PID)
	dir, err := s.guests.program.do(ctx, "machine", "data-dir", "--name", m.Name)
	if err != nil {
		return u
	}
	filepath.WalkDir(strings.TrimSpace(dir), func(_ string, d os.DirEntry, err error) error { //nolint:errcheck // what is not there is 0
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				u.Disk += st.Blocks * 512
			}
		}
		return nil
	})
	return u
}
