package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// target is what a name stands for: a scope's sandbox, or one of its children.
type target struct {
	scope runner.Scope
	child string // as given; "" is the sandbox itself
}

// attachTimeout bounds how long a sandbox may take to answer: one that hangs must not hide the others.
const attachTimeout = 10 * time.Second

func (d deps) store() (runner.Store, error) {
	dirs, err := d.runnerDirs()
	return runner.Store{Dir: dirs.State}, err
}

// here is the scope of the folder that boxer was called for.
func (d deps) here() (runner.Scope, error) {
	dir, err := d.dir()
	if err != nil {
		return runner.Scope{}, err
	}
	return runner.ScopeOf(dir)
}

// find reads a name, in key or slug form, of a sandbox or a child; "" is the sandbox of this folder.
func (d deps) find(ctx context.Context, name string) (target, error) {
	here, err := d.here()
	if err != nil || name == "" {
		return target{scope: here}, err
	}
	scopes, err := d.scopes()
	if err != nil {
		return target{}, err
	}
	var found []target
	for _, s := range append([]runner.Scope{here}, scopes...) {
		if len(found) > 0 && found[0].scope.Key == s.Key {
			continue
		}
		if s.Names(name) {
			found = append(found, target{scope: s})
		} else if _, ok := s.ChildIndex(name); ok {
			found = append(found, target{scope: s, child: name})
		}
	}
	switch len(found) {
	case 0:
		return target{}, d.unknown(ctx, name)
	case 1:
		return found[0], nil
	}
	return target{}, d.ambiguous(name, found)
}

// scopes are those that boxer has a record of.
func (d deps) scopes() ([]runner.Scope, error) {
	store, err := d.store()
	if err != nil {
		return nil, err
	}
	records, err := store.All()
	var out []runner.Scope
	for _, r := range records {
		out = append(out, r.Scope)
	}
	return out, err
}

// unknown is the refusal of a name, with all that there are.
func (d deps) unknown(ctx context.Context, name string) error {
	e := &runner.Error{
		Reason: fmt.Sprintf("there is no sandbox and no child %q", name), Cause: runner.UnknownScope, Fix: "boxer ls",
	}
	names := d.names(ctx)
	if len(names) == 0 {
		e.Output = []string{"nothing runs"}
	} else {
		e.Output = append([]string{"there are:"}, names...)
	}
	return e
}

// names are all sandboxes and children in slug and key form. Those that do not answer are left out: this is a help
// for somebody who mistyped.
func (d deps) names(ctx context.Context) []string {
	all, _ := d.everything(ctx, plainly)
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s (%s)", s.Slug, s.Key))
	}
	return out
}

func (d deps) ambiguous(name string, found []target) error {
	e := &runner.Error{Reason: fmt.Sprintf("%q means more than one sandbox: use a key", name), Cause: runner.AmbiguousScope, Fix: "boxer ls"}
	for _, t := range found {
		key := t.scope.Key + strings.TrimPrefix(t.child, t.scope.Slug)
		e.Output = append(e.Output, fmt.Sprintf("%s  %s", key, t.scope.Worktree))
	}
	sort.Strings(e.Output)
	return e
}

// recordedKind is the backend of the scope's record, "" without one. A record may be all that is left of a sandbox:
// then attaching tells.
func (d deps) recordedKind(scope runner.Scope) (string, error) {
	store, err := d.store()
	if err != nil {
		return "", err
	}
	r, err := store.Get(scope.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return r.Backend, err
}

// attach connects to the sandbox that runs for the scope. Without one the cause is NotRunning.
func (d deps) attach(ctx context.Context, scope runner.Scope) (runner.Session, error) {
	kind, err := d.recordedKind(scope)
	if err != nil {
		return nil, err
	}
	if kind == "" {
		return nil, notRunning(scope)
	}
	b, err := d.backend(kind)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	session, err := b.Attach(ctx, scope)
	if runner.CauseOf(err) == runner.NotRunning {
		return nil, notRunning(scope)
	}
	return session, err
}

func notRunning(scope runner.Scope) error {
	e := &runner.Error{Reason: "no sandbox runs for this " + scope.Kind(), Cause: runner.NotRunning, Fix: "boxer up"}
	return e.At(scope)
}

// running is the backend of the sandbox that is up for the scope, "" if none is; dead tells that its processes have
// ended all the same.
func (d deps) running(ctx context.Context, scope runner.Scope) (kind string, dead bool, err error) {
	session, err := d.attach(ctx, scope)
	if runner.CauseOf(err) == runner.NotRunning {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	kind, err = d.recordedKind(scope)
	list, listErr := session.List(ctx)
	if listErr == nil {
		dead = list[0].State == runner.Dead
	}
	return kind, dead, errors.Join(err, listErr, session.Close())
}

// everything lists all sandboxes of all scopes, each with its children behind it. What cannot be asked is in the
// error; the others are returned.
func (d deps) everything(ctx context.Context, list lister) ([]runner.Sandbox, error) {
	scopes, err := d.scopes()
	errs := []error{err}
	var out []runner.Sandbox
	for _, scope := range scopes {
		some, err := d.listOf(ctx, scope, list)
		if runner.CauseOf(err) == runner.NotRunning {
			continue
		}
		out = append(out, some...)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// lister asks one session for its sandboxes.
type lister func(context.Context, runner.Session) ([]runner.Sandbox, error)

func plainly(ctx context.Context, s runner.Session) ([]runner.Sandbox, error) { return s.List(ctx) }

// withResources asks for memory and disk too where the session can tell.
func withResources(ctx context.Context, s runner.Session) ([]runner.Sandbox, error) {
	if r, ok := s.(interface {
		Resources(context.Context) ([]runner.Sandbox, error)
	}); ok {
		return r.Resources(ctx)
	}
	return s.List(ctx)
}

func (d deps) listOf(ctx context.Context, scope runner.Scope, list lister) ([]runner.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	session, err := d.attach(ctx, scope)
	if err != nil {
		return nil, err
	}
	some, err := list(ctx, session)
	return some, errors.Join(err, session.Close())
}
