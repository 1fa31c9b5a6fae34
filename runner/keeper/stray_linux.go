package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// ownPrograms are the names that boxer starts itself under, with paths in a keeper's folder among the arguments.
var ownPrograms = []string{program, "runsc", "runsc-sandbox", "runsc-gofer"}

// endStrays ends what outlived a keeper and its guard that were both killed outright. With a PID namespace there never
// is anything: the kernel has ended it. No process is taken for boxer's by its name alone, nor by its arguments alone:
// somebody may be reading the log of a keeper.
func endStrays(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	return reap.KillAll(ctx, func(all []reap.Stat) []reap.Stat {
		return slices.DeleteFunc(slices.Clone(all), func(s reap.Stat) bool { return !straysFrom(s.PID, dir) })
	})
}

func straysFrom(pid int, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := strings.Split(string(line), "\x00")
	if !slices.Contains(ownPrograms, filepath.Base(args[0])) {
		return false
	}
	return slices.ContainsFunc(args[1:], func(arg string) bool {
		if _, value, ok := strings.Cut(arg, "="); ok {
			arg = value
		}
		return arg == dir || strings.HasPrefix(arg, dir+"/")
	})
}
