package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// ReclaimAll takes away what nobody owns any more, of all scopes in these folders and whichever backend's keeper made
// it; a dry run only tells. What cannot be removed is in the error, and all else is tried.
func ReclaimAll(ctx context.Context, dirs runner.Dirs, dry bool) (runner.Reclaimed, error) {
	g := &reclaimer{dirs: dirs, dry: dry}
	if err := dirs.Check(); err != nil {
		return g.found, err
	}
	keys, err := g.keys()
	errs := []error{err}
	for _, key := range keys {
		if ctx.Err() != nil {
			return g.found, errors.Join(append(errs, context.Cause(ctx))...)
		}
		errs = append(errs, g.scope(ctx, key))
	}
	errs = append(errs, g.probeFolders())
	return g.found, errors.Join(errs...)
}

// reclaimer is one search for garbage.
type reclaimer struct {
	dirs  runner.Dirs
	dry   bool
	found runner.Reclaimed
}

const (
	notReclaimed runner.Cause = "NOT_RECLAIMED"

	// lockTime is how long a scope's lock is waited for. Starting and ending a keeper take less; who holds it longer is
	// at work, and will clear up himself.
	lockTime = 2 * time.Second
	// endTime is for a keeper that is ending already.
	endTime = 2 * time.Second
)

// keeperName is the name of a keeper's folder, and of its socket without the suffix; see Config.setup.
var keeperName = regexp.MustCompile(`^(sb-[0-9a-f]{12}|` + probeKey + `)\.[a-z2-7]{6}$`)

const socketSuffix = ".sock"

func (g *reclaimer) store() runner.Store { return runner.Store{Dir: g.dirs.State} }

// take takes one thing away.
func (g *reclaimer) take(what runner.Garbage, remove func() error) error {
	if !g.dry {
		if err := remove(); err != nil {
			return stuck(what, err)
		}
	}
	g.found.Items = append(g.found.Items, what)
	return nil
}

// skip leaves one thing alone and says so.
func (g *reclaimer) skip(what runner.Garbage, why string) {
	what.Reason = why
	g.found.Skipped = append(g.found.Skipped, what)
}

// stuck is the error for what could not be removed.
func stuck(what runner.Garbage, err error) error {
	e := &runner.Error{
		Reason: fmt.Sprintf("the %s %s could not be reclaimed", what.Kind, what.Name), Cause: notReclaimed, Fix: "boxer gc",
	}
	if known, ok := errors.AsType[*runner.Error](err); ok && known.Fix != "" {
		e.Fix = known.Fix
	} else if errors.Is(err, fs.ErrPermission) {
		e.Fix = "sudo rm -rf " + what.Path
	}
	return e.Because(err)
}

// keys are those of all scopes that left a trace, in order.
func (g *reclaimer) keys() ([]string, error) {
	keys, err := g.store().Keys()
	errs := []error{err}
	for _, place := range []struct{ dir, suffix string }{{g.dirs.Temp, ""}, {g.dirs.Runtime, socketSuffix}} {
		entries, err := os.ReadDir(place.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), place.suffix)
			if m := keeperName.FindStringSubmatch(name); ok && m != nil {
				keys = append(keys, m[1])
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), errors.Join(errs...)
}

// scope does one scope, under its lock: so no keeper of it is being started meanwhile, and no other gc is at it.
func (g *reclaimer) scope(ctx context.Context, key string) error {
	wait, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	unlock, err := g.store().LockWithin(wait, key)
	if errors.Is(err, context.DeadlineExceeded) {
		g.skip(g.sandbox(key), "somebody is just starting or ending it")
		return nil
	} else if err != nil {
		return err
	}
	defer unlock()
	return g.locked(ctx, key)
}

// locked does the scope whose lock is held.
func (g *reclaimer) locked(ctx context.Context, key string) error {
	r, err := g.store().Get(key)
	broken := unreadable(err) || (err == nil && r.Scope.Key != key)
	var errs []error
	switch {
	case broken || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return stuck(g.sandbox(key), err)
	case r.Socket == "":
		return nil // of a backend without keepers
	default:
		errs = append(errs, at(g.recorded(ctx, record{r, g.dirs}), r.Scope))
	}
	for _, path := range g.store().Halves(key) {
		what := runner.Garbage{Kind: "record", Name: filepath.Base(path), Path: path, Reason: "it was never finished"}
		errs = append(errs, g.take(what, func() error { return remove(path) }))
	}
	held, err := g.orphans(ctx, key)
	errs = append(errs, err)
	if broken && !held && err == nil {
		what := runner.Garbage{Kind: "record", Name: key, Path: g.store().Path(key), Reason: "it cannot be read"}
		errs = append(errs, g.take(what, func() error { return g.store().Delete(key) }))
	}
	return errors.Join(errs...)
}

// unreadable tells a record that is no record from one that could not be got at.
func unreadable(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

// sandbox names what is known of the scope.
func (g *reclaimer) sandbox(key string) runner.Garbage {
	what := runner.Garbage{Kind: "sandbox", Name: key, Path: g.store().Path(key)}
	if r, err := g.store().Get(key); err == nil && r.Scope.Key == key {
		what.Name, what.Path = r.Scope.Slug, r.Dir
	}
	return what
}

// recorded looks after the keeper of a record.
func (g *reclaimer) recorded(ctx context.Context, r record) error {
	what := runner.Garbage{Kind: "sandbox", Name: r.Scope.Slug, Path: r.Dir}
	if !alive(r.Owner) {
		return g.dead(ctx, what, r)
	}
	gone := vanished(r.Scope.Worktree)
	got, err := askTidy(ctx, r, tidying{Gone: gone, Dry: g.dry})
	switch cause := runner.CauseOf(err); {
	case cause == runner.NotRunning || cause == runner.Gone:
		return g.silent(ctx, what, r, gone)
	case cause == runner.OtherVersion:
		if gone {
			g.skip(what, "its worktree is gone, but another version of boxer started it and cannot be asked who holds it; boxer down --scope "+r.Scope.Key+" removes it")
		}
		return nil
	}
	if err != nil {
		err = stuck(what, err)
	} else if got.Ends && !g.dry {
		if err = r.finish(ctx); err != nil {
			err = stuck(what, err)
		}
	}
	return errors.Join(err, g.note(got, err == nil || !got.Ends))
}

// note takes over what a keeper tells. Of one that could not be ended nothing is reclaimed.
func (g *reclaimer) note(got tidied, done bool) error {
	if done {
		g.found.Items = append(g.found.Items, got.Items...)
	}
	g.found.Skipped = append(g.found.Skipped, got.Skipped...)
	var errs []error
	for _, s := range got.Stuck {
		errs = append(errs, s.Decode())
	}
	return errors.Join(errs...)
}

// dead is for a record whose keeper has ended.
func (g *reclaimer) dead(ctx context.Context, what runner.Garbage, r record) error {
	if !r.plausible() {
		return stuck(what, &runner.Error{
			Reason: "its record names " + r.Dir + " and " + r.Socket + ", which are none that boxer makes", Cause: notReclaimed,
			Fix: "rm " + g.store().Path(r.Scope.Key),
		})
	}
	// Process numbers are those of this PID namespace; a container that shares the folders has others.
	if !silenced(ctx, r.Socket) {
		g.skip(what, "its keeper answers, though it is no process that can be seen from here")
		return nil
	}
	what.Reason = fmt.Sprintf("its keeper, process %d, is dead", r.Owner.PID)
	return g.take(what, func() error { return r.bury(ctx) })
}

// plausible tells whether the names are those that Config.setup gives: a file that was tampered with must not make us
// remove anything else.
func (r record) plausible() bool {
	name := filepath.Base(r.Dir)
	m := keeperName.FindStringSubmatch(name)
	return m != nil && m[1] == r.Scope.Key && filepath.Base(r.Socket) == name+socketSuffix
}

// silenced tells that nobody listens at the socket, and gives who is ending some time.
func silenced(ctx context.Context, socket string) bool {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for listened(socket) {
		select {
		case <-time.After(endPoll):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// silent is for a keeper that lives and does not answer: one that is ending takes away what it has itself.
func (g *reclaimer) silent(ctx context.Context, what runner.Garbage, r record, gone bool) error {
	wait, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if waitEnd(wait, r.Owner) == nil {
		now, err := g.store().Get(r.Scope.Key)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && now.Dir != r.Dir) {
			return nil
		}
		return g.dead(ctx, what, r)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	why := fmt.Sprintf("its keeper, process %d, lives and does not answer", r.Owner.PID)
	if !gone {
		g.skip(what, why+"; boxer down --scope "+r.Scope.Key+" ends it")
		return nil
	}
	return stuck(what, &runner.Error{Reason: why, Cause: notReclaimed, Fix: "boxer down --scope " + r.Scope.Key})
}

// vanished tells whether there is no worktree any more. One that cannot be looked at may be there.
func vanished(worktree string) bool {
	info, err := os.Stat(worktree)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || (err == nil && !info.IsDir())
}

// remove removes one file; that it is gone is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
