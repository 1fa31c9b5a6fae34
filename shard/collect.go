package shard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

const (
	maxCollected = 1 << 30 // bytes of reports, and again of artifacts, for one command
	// A kernel stamps files with the time of its last tick, which may lie before the moment a command was started in.
	clockTick = 20 * time.Millisecond
	// The clock of a child may be off by this much; where old reports were removed before, it may be allowed for.
	clockSkew     = 2 * time.Second
	collectLimit  = 5 * time.Minute
	collectUrgent = 1500 * time.Millisecond // of a run that was cancelled
)

// picks are the globs of one shard.
type picks struct {
	reports, artifacts []string
	configured         bool // the user named the reports
	cleared            bool // old reports were removed before the start
}

// collected is what a command wrote.
type collected struct {
	reports []report.File
	missing []string // configured, not there
	files   []string // all that came, relative to Base, sorted
	skipped []runner.Skipped
}

// picks says what to bring out of a shard. In a worktree that several shards share, nobody can tell whose the reports
// in the usual places are.
func (r *run) picks(p place) *picks {
	o := r.options
	k := &picks{configured: len(o.JUnit) > 0, artifacts: tidyAll(p.expandAll(o.Artifacts))}
	switch {
	case k.configured:
		k.reports = tidyAll(p.expandAll(o.JUnit))
	case o.Worktree != runner.Live || o.Count == 1:
		k.reports = usual(o.Base, o.Dir)
	}
	return k
}

// clear removes old reports where the user named their places: the parent may hold some, from its setup or an earlier
// run. The usual places may hold files that belong to the project, so there only the time tells. The same goes for a
// glob that in a live worktree would hit what boxer has collected from another shard.
func (r *run) clear(ctx context.Context, child runner.Child, k *picks) error {
	own := r.options.ownPath()
	hitsOwn := slices.ContainsFunc(k.reports, func(p string) bool { return own != "" && reaches(p, own) })
	if !k.configured || (r.options.Worktree == runner.Live && hitsOwn) {
		return nil
	}
	k.cleared = true
	if err := r.session.Clear(ctx, child.Key, runner.Pick{Base: r.options.Base, Patterns: k.reports}); err != nil {
		return fmt.Errorf("remove old reports: %w", err)
	}
	return nil
}

// collect brings reports and artifacts into the shard's folder. What cannot be brought makes the shard lost: without
// its report nobody can say that it passed.
func (r *run) collect(ctx context.Context, a *attempt, k *picks) {
	ctx, done := afterwards(ctx, r.killed, collectLimit, collectUrgent)
	defer done()
	err := r.bring(ctx, a, k)
	if err == nil {
		err = a.output.err
	}
	if err != nil && (a.state == Passed || a.state == Failed) {
		a.state, a.err = Lost, err
		a.reason = "its files could not be collected: " + err.Error()
		a.killed = a.reason
	}
}

func (r *run) bring(ctx context.Context, a *attempt, k *picks) error {
	dest, err := r.dir.folder(a.folder())
	if err != nil {
		return err
	}
	defer dest.Close()
	since := a.started.Add(-clockTick)
	if k.cleared {
		since = a.begun.Add(-clockSkew)
	}
	c := &a.collected
	found, err := r.pick(ctx, a, dest, runner.Pick{Patterns: k.reports, Since: since})
	if err != nil {
		return err
	}
	if k.configured {
		found.Files = reportsAmong(found.Files, k.reports)
		c.missing = append(missing(k.reports, found.Files), unbrought(k.reports, found.Skipped)...)
	}
	for _, f := range found.Files {
		if err := redactFile(dest, f, r.options.Secrets); err != nil {
			return fmt.Errorf("take the secrets out of %s: %w", f, err)
		}
		c.reports = append(c.reports, report.File{
			Path: filepath.Join(r.dir.path, a.folder(), filepath.FromSlash(f)), Name: r.options.inRepository(f),
		})
	}
	_, err = r.pick(ctx, a, dest, runner.Pick{Patterns: k.artifacts, Since: r.newerThan(a)})
	return err
}

// newerThan is the time from which on artifacts are the attempt's. Before the first batch of a fresh child nothing was
// written that could be taken for its work, so that there its clock may be off.
func (r *run) newerThan(a *attempt) time.Time {
	if r.deal != nil && !a.forkBegun.IsZero() {
		return a.begun.Add(-clockSkew)
	}
	return a.started.Add(-clockTick)
}

// unbrought are reports that are there and cannot be had: as bad as missing, since they may hold a failure. Other things
// that a wide glob runs into, a folder of a database that nobody may enter, are none.
func unbrought(patterns []string, skipped []runner.Skipped) []string {
	var all []string
	for _, s := range skipped {
		if strings.HasSuffix(s.Path, ".xml") || slices.Contains(patterns, s.Path) {
			all = append(all, fmt.Sprintf("%s (%s)", s.Path, s.Reason))
		}
	}
	return all
}

// pick collects one kind of files and notes them in the attempt.
func (r *run) pick(ctx context.Context, a *attempt, dest *os.Root, p runner.Pick) (runner.Collected, error) {
	if len(p.Patterns) == 0 {
		return runner.Collected{}, nil
	}
	p.Base, p.Limit = r.options.Base, maxCollected
	found, err := r.session.Collect(ctx, a.child.Key, p, dest)
	if err != nil {
		return found, err
	}
	found.Files = r.withoutOwn(found.Files, dest)
	c := &a.collected
	c.files = append(c.files, found.Files...)
	slices.Sort(c.files)
	c.files = slices.Compact(c.files)
	for _, s := range found.Skipped {
		if !slices.Contains(c.skipped, s) {
			c.skipped = append(c.skipped, s)
		}
	}
	return found, nil
}

// withoutOwn drops what boxer itself wrote below the worktree: a glob like **/*.xml would take another shard's
// collected reports for this one's.
func (r *run) withoutOwn(files []string, dest *os.Root) []string {
	own := r.options.ownPath()
	if own == "" {
		return files
	}
	dest.RemoveAll(strings.TrimSuffix(own, "/"))
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return strings.HasPrefix(f, own) })
}
