package smolvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

const (
	// folderMark stands in the name of a scope's folder between its key and what makes it unique.
	folderMark = ".vm-"
	// scopeTime is how long a scope's lock is waited for: who holds it longer is at work, and clears up himself.
	scopeTime = 2 * time.Second
	// probeAge is when a probe's machine certainly has no probe any more.
	probeAge = 10 * time.Minute
)

var folderName = regexp.MustCompile(`^(sb-[0-9a-f]{12})\.vm-[a-z2-7]{6}$`)

// ReclaimAll takes away what nobody owns any more: sandboxes and children of dead runs, sandboxes whose worktree is
// gone, machines with this boxer's labels that no record tells of. A dry run only tells. What somebody alive holds
// stays. Where there neither is a smolvm nor a record of one there is nothing to do.
func ReclaimAll(ctx context.Context, dirs runner.Dirs, dry bool) (runner.Reclaimed, error) {
	return New(dirs).ReclaimAll(ctx, dry)
}

// ReclaimAll is the function of the same name for this backend's smolvm.
func (b *Backend) ReclaimAll(ctx context.Context, dry bool) (runner.Reclaimed, error) {
	g := &reclaimer{Backend: b, dry: dry}
	records, err := b.store().All()
	errs := []error{}
	keys := map[string]bool{}
	for _, r := range records {
		if r.Backend == Kind {
			keys[r.Scope.Key] = true
		}
	}
	_, missing := exec.LookPath(Kind)
	if len(keys) == 0 && (missing != nil && b.Program == "") {
		return g.found, errors.Join(append(errs, g.folders(ctx))...)
	}
	if g.machines, err = b.program().list(ctx); err != nil {
		return g.found, errors.Join(append(errs, err)...)
	}
	for _, m := range g.machines {
		if key := m.Labels[labelScope]; m.Labels[labelState] == b.stateID() && key != "" {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key == probeScope {
			errs = append(errs, g.probes(ctx))
			continue
		}
		errs = append(errs, g.scope(ctx, key))
	}
	return g.found, errors.Join(append(errs, g.folders(ctx))...)
}

// reclaimer is one search for garbage.
type reclaimer struct {
	*Backend
	dry      bool
	machines []machine
	found    runner.Reclaimed
}

func (g *reclaimer) take(what runner.Garbage, remove func() error) error {
	if !g.dry {
		if err := remove(); err != nil {
			return (&runner.Error{
				Reason: fmt.Sprintf("the %s %s could not be reclaimed", what.Kind, what.Name), Cause: "NOT_RECLAIMED", Fix: "boxer gc",
			}).Because(err)
		}
	}
	g.found.Items = append(g.found.Items, what)
	return nil
}

func (g *reclaimer) skip(what runner.Garbage, why string) {
	what.Reason = why
	g.found.Skipped = append(g.found.Skipped, what)
}

// probes removes machines of probes that were killed.
func (g *reclaimer) probes(ctx context.Context) error {
	var errs []error
	for _, m := range g.machines {
		if m.is(probeScope, g.stateID()) && time.Since(time.Unix(m.Created, 0)) > probeAge {
			what := runner.Garbage{Kind: "sandbox", Name: m.Name, Reason: "the probe that started it was killed"}
			errs = append(errs, g.take(what, func() error { return g.program().remove(ctx, m.Name) }))
		}
	}
	return errors.Join(errs...)
}

// scope does one scope, under its lock: so nobody is starting or ending it meanwhile.
func (g *reclaimer) scope(ctx context.Context, key string) error {
	wait, cancel := context.WithTimeout(ctx, scopeTime)
	defer cancel()
	unlock, err := g.store().LockWithin(wait, key)
	if errors.Is(err, context.DeadlineExceeded) {
		g.skip(runner.Garbage{Kind: "sandbox", Name: key}, "somebody is just starting or ending it")
		return nil
	} else if err != nil {
		return err
	}
	defer unlock()
	r, err := g.store().Get(key)
	switch {
	case errors.Is(err, fs.ErrNotExist) || (err == nil && r.Backend != Kind):
		return g.strays(ctx, key, nil)
	case err != nil:
		return nil // keeper.ReclaimAll has told of it
	}
	return g.recorded(ctx, r)
}

// recorded does a scope that has a record.
func (g *reclaimer) recorded(ctx context.Context, r runner.Record) error {
	what := runner.Garbage{Kind: "sandbox", Name: r.Scope.Slug, Path: r.Dir}
	k, err := book{r.Dir}.read()
	why := ""
	_, statErr := os.Stat(r.Scope.Worktree)
	worktreeGone := errors.Is(statErr, fs.ErrNotExist) || errors.Is(statErr, syscall.ENOTDIR)
	switch {
	case runner.CauseOf(err) == runner.Gone:
		why = "it has no book, so nobody owns it"
	case err != nil:
		return err
	case k.Closing:
		why = "its removal was broken off"
	case k.Phase == preparing && !k.Leases[k.Preparer].live(), !k.Lasting && !k.held():
		why = "the run that made it is dead"
	case k.held() && worktreeGone:
		g.skip(what, "its worktree is gone, but somebody still uses it")
	case worktreeGone:
		why = "its worktree is gone"
	case k.Phase == prepared && !k.held() && !g.lives(r.Scope.Key):
		why = "its machine has ended"
	}
	if why != "" {
		what.Reason = why
		return g.take(what, func() error { return g.takeDown(ctx, r) })
	}
	return errors.Join(g.children(ctx, r, k), g.strays(ctx, r.Scope.Key, k))
}

func (g *reclaimer) lives(name string) bool {
	for _, m := range g.machines {
		if m.Name == name {
			return m.lives()
		}
	}
	return false
}

// children removes those of dead runs and those that have ended.
func (g *reclaimer) children(ctx context.Context, r runner.Record, k *bookData) error {
	s, err := g.session(r)
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range indexes(k) {
		c, name := k.Children[i], r.Scope.Child(i)
		what := runner.Garbage{Kind: "child", Name: name.Slug, Path: r.Dir}
		switch live := k.Leases[c.Lease].live(); {
		case live:
			continue
		case !c.Lasting, !c.Ready:
			what.Reason = "the run that made it is dead"
		case !g.lives(name.Key):
			what.Reason = "its machine has ended"
		default:
			continue
		}
		errs = append(errs, g.take(what, func() error {
			s.id = c.Lease
			return errors.Join(s.awaitMakers(ctx), s.removeChildren(ctx, []int{i}))
		}))
	}
	if !g.dry {
		errs = append(errs, s.book.update(func(k *bookData) error {
			for id, l := range k.Leases {
				if !l.live() {
					delete(k.Leases, id)
				}
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// strays removes machines with the scope's labels that its book does not name.
func (g *reclaimer) strays(ctx context.Context, key string, k *bookData) error {
	var errs []error
	for _, m := range g.machines {
		if !m.is(key, g.stateID()) || (k != nil && m.Name == key) {
			continue
		}
		if k != nil && m.named(key, k) {
			continue
		}
		what := runner.Garbage{Kind: "child", Name: m.Name, Reason: "no record tells of it"}
		if m.Parent == nil {
			what.Kind = "sandbox"
		}
		if k != nil { // its name may have been given since the machines were listed
			if now, err := (book{g.dirOf(key)}).read(); err != nil || m.named(key, now) {
				continue
			}
		}
		errs = append(errs, g.take(what, func() error { return g.program().remove(ctx, m.Name) }))
	}
	return errors.Join(errs...)
}

func (g *reclaimer) dirOf(key string) string {
	r, err := g.store().Get(key)
	if err != nil {
		return ""
	}
	return r.Dir
}

// named tells whether the book has a child of the machine's name.
func (m machine) named(key string, k *bookData) bool {
	for i := range k.Children {
		if m.Name == fmt.Sprintf("%s-f%d", key, i) {
			return true
		}
	}
	return false
}

// folders removes folders that no record names.
func (g *reclaimer) folders(ctx context.Context) error {
	entries, err := os.ReadDir(g.dirs.Temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		m := folderName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		errs = append(errs, g.folder(ctx, m[1], filepath.Join(g.dirs.Temp, e.Name())))
	}
	return errors.Join(errs...)
}

func (g *reclaimer) folder(ctx context.Context, key, path string) error {
	wait, cancel := context.WithTimeout(ctx, scopeTime)
	defer cancel()
	unlock, err := g.store().LockWithin(wait, key)
	if err != nil {
		return nil // somebody is at it
	}
	defer unlock()
	if r, err := g.store().Get(key); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && r.Dir == path {
		return nil
	}
	what := runner.Garbage{Kind: "folder", Name: filepath.Base(path), Path: path, Reason: "no record names it"}
	return g.take(what, func() error { return os.RemoveAll(path) })
}
