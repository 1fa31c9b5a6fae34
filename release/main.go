// Command release builds what a release of boxer consists of: one archive for each platform, with the program, the
// licences of everything linked into it, and checksums.txt.
//
// The same commit, the same Go and the same version give the same bytes, on any machine: git, the paths of the machine
// and the clock are kept out of them. So the checksums can be in the repository before the release exists, and whoever
// doubts an archive can build it again. It starts git and go, writes to the folder it is given, and with -pin to the
// two files of the repository that hold checksums; it uploads nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, story io.Writer) error {
	r := release{Targets: targets, Story: story}
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.SetOutput(story)
	f.StringVar(&r.Version, "version", "", "the `version` to build, as 0.1.0")
	f.StringVar(&r.Out, "out", "dist", "the `folder` for the archives and checksums.txt")
	f.StringVar(&r.Root, "root", ".", "the `folder` of boxer's source")
	f.StringVar(&r.Commit, "commit", "", "the `commit` this is, where git is not to be asked")
	pin := f.Bool("pin", false, "write the checksums into the files that the GitHub action and the GitLab template read")
	if err := f.Parse(args); err != nil {
		return errors.Join(flag.ErrHelp, err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see -help", f.Arg(0))
	}
	if err := r.identify(ctx, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	sums, err := r.build(ctx)
	if err != nil || !*pin {
		return err
	}
	return r.pin(sums)
}

// release is one that is being built.
type release struct {
	Version string    // without the v that its tag starts with
	Commit  string    // what `boxer version` prints
	Time    time.Time // of every file in the archives
	Targets []target
	Root    string // boxer's source
	Out     string
	Story   io.Writer
}

var semver = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// identify checks the version and finds commit and time; epoch is the value of SOURCE_DATE_EPOCH, "" if it is not set.
func (r *release) identify(ctx context.Context, epoch string) error {
	if !semver.MatchString(r.Version) {
		return fmt.Errorf("-version %q is none: give one as 0.1.0, without a v", r.Version)
	}
	if r.Commit == "" {
		changes, err := r.git(ctx, "status", "--porcelain")
		if err != nil {
			return err
		}
		if changes != "" {
			return fmt.Errorf("the worktree is not what its commit says, commit or stash first:\n%s", changes)
		}
		if r.Commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
			return err
		}
	}
	if epoch == "" {
		var err error
		if epoch, err = r.git(ctx, "log", "-1", "--format=%ct", r.Commit); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %w", err)
	}
	r.Time = time.Unix(seconds, 0).UTC()
	return nil
}

// build makes the archives and checksums.txt, which it returns.
func (r *release) build(ctx context.Context) (string, error) {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return "", err
	}
	var sums strings.Builder
	for _, t := range r.Targets {
		sum, err := r.archive(ctx, t)
		if err != nil {
			return "", fmt.Errorf("%s: %w", t, err)
		}
		line := sum + "  " + r.name(t) + "\n"
		fmt.Fprint(r.Story, line)
		sums.WriteString(line)
	}
	return sums.String(), os.WriteFile(filepath.Join(r.Out, "checksums.txt"), []byte(sums.String()), 0o644)
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", r.Root}, args...)...))
}

// output is what a program printed, or what it said was wrong.
func output(c *exec.Cmd) (string, error) {
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", c, err)
	}
	return strings.TrimSpace(string(out)), nil
}
