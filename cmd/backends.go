package cmd

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// backend is one kind of sandbox that this binary knows.
type backend struct {
	kind  string
	open  func(runner.Dirs) runner.Backend // nil: not in this binary
	forks bool
	packs bool
	gone  *runner.Error // why open is nil
}

func (d deps) backend(kind string) (runner.Backend, error) {
	for _, b := range d.backends {
		if b.kind != kind {
			continue
		}
		if b.open == nil {
			gone := *b.gone
			return nil, &gone
		}
		dirs, err := d.runnerDirs()
		if err != nil {
			return nil, err
		}
		return b.open(dirs), dirs.Make()
	}
	return nil, &runner.Error{
		Reason: fmt.Sprintf("this boxer has no backend %q", kind), Cause: runner.OtherVersion, Fix: "boxer version",
	}
}

// forks tells whether sandboxes of the kind can be copied at all.
func (d deps) forks(kind string) bool {
	for _, b := range d.backends {
		if b.kind == kind {
			return b.forks
		}
	}
	return false
}

// start finds the scope's running sandbox or starts one, of the kind that is configured.
func (d deps) start(ctx context.Context, s scoped, worktree runner.Worktree) (runner.Session, error) {
	kind := s.Backend
	running, dead, err := d.running(ctx, s.scope)
	if err == nil && dead {
		err = runner.Died("boxer down").At(s.scope)
	} else if err == nil && running != "" {
		err = sameKind(s, running)
		kind = running
	}
	if err != nil {
		return nil, err
	}
	spec := s.spec(d.Env, worktree)
	if kind != "auto" {
		return d.startKind(ctx, kind, s.scope, spec)
	}
	kind = d.automatic(ctx, s)
	session, err := d.startKind(ctx, kind, s.scope, spec)
	if err != nil && ctx.Err() == nil {
		return nil, d.noneWorks(ctx, kind, err)
	}
	return session, err
}

// quickTime bounds the probe of a backend that is only one of several.
const quickTime = 5 * time.Second

// automatic is what auto means here: smolvm where the configuration names an image for it and it works, else gvisor,
// else, where this binary has no gvisor, smolvm with the image that it takes by itself.
func (d deps) automatic(ctx context.Context, s scoped) string {
	if s.Smolvm.Image != "" {
		e := d.quickly(ctx, "smolvm")
		if e == nil {
			d.say("using smolvm, whose image boxer.yaml names")
			return "smolvm"
		}
		d.say("boxer.yaml names an image for smolvm, which does not work here (%s): using gvisor", e.Error())
	}
	for _, b := range d.backends {
		if b.kind == "gvisor" && b.open == nil {
			return "smolvm"
		}
	}
	return "gvisor"
}

// quickly is probe with an answer that may be an earlier one.
func (d deps) quickly(ctx context.Context, kind string) *runner.Error {
	ctx, cancel := context.WithTimeout(ctx, quickTime)
	defer cancel()
	b, err := d.backend(kind)
	if err != nil {
		return asError(err)
	}
	if q, ok := b.(interface{ ProbeOnce(context.Context) error }); ok {
		return asError(q.ProbeOnce(ctx))
	}
	return asError(b.Probe(ctx))
}

func (d deps) startKind(ctx context.Context, kind string, scope runner.Scope, spec runner.Spec) (runner.Session, error) {
	b, err := d.backend(kind)
	if err != nil {
		return nil, err
	}
	return b.Start(ctx, scope, spec, d.step)
}

// noneWorks is the refusal when auto finds nothing that isolates. An error of a backend that does work, such as a
// setup command that fails, stays what it is.
func (d deps) noneWorks(ctx context.Context, kind string, err error) error {
	reasons := d.reasons(ctx)
	if _, broken := reasons[kind]; !broken {
		return err
	}
	refusal := &runner.Error{
		Reason: "no backend that isolates works here, and boxer does not fall back to none by itself",
		Cause:  runner.BackendUnavailable, Fix: "boxer " + d.call.command + " --backend host",
	}
	kinds := make([]string, 0, len(reasons))
	for k := range reasons {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		refusal.Output = append(refusal.Output, k+": "+reasons[k].Error())
		if e := reasons[k]; e.Fix != "" && e.Fix != "boxer doctor" {
			refusal.Output = append(refusal.Output, strings.Repeat(" ", len(k)+2)+"fix: "+e.Fix)
		}
	}
	return refusal
}

// reasons tells why each backend that isolates does not work; those that do are not in it.
func (d deps) reasons(ctx context.Context) map[string]*runner.Error {
	out := map[string]*runner.Error{}
	for _, b := range d.backends {
		if b.kind == "host" {
			continue
		}
		if e := d.probe(ctx, b.kind); e != nil {
			out[b.kind] = e
		}
	}
	return out
}

// probe tries a backend; nil means it works.
func (d deps) probe(ctx context.Context, kind string) *runner.Error {
	b, err := d.backend(kind)
	if err == nil {
		err = b.Probe(ctx)
	}
	return asError(err)
}

// asError makes any error one that can be shown with a reason and a fix.
func asError(err error) *runner.Error {
	if err == nil {
		return nil
	}
	for _, e := range flatten(err) {
		if known, ok := e.(*runner.Error); ok {
			return known
		}
	}
	return &runner.Error{Reason: err.Error(), Cause: runner.BackendFailed}
}

// sameKind refuses to use a sandbox of another kind than the one asked for.
func sameKind(s scoped, running string) error {
	if s.Backend == "auto" || s.Backend == running {
		return nil
	}
	e := &runner.Error{
		Reason: fmt.Sprintf("the sandbox that runs here is of the backend %s, and %s is asked for", running, s.Backend),
		Cause:  runner.ConfigChanged, Fix: "boxer down",
	}
	return e.At(s.scope)
}

// unsupported is the refusal of a fork where the backend cannot, with or without a sandbox of it.
func (d deps) unsupported(kind string, runs bool, scope runner.Scope) error {
	able := "gvisor"
	for _, b := range d.backends {
		if b.forks && b.open != nil {
			able = b.kind
			break
		}
	}
	e := &runner.Error{
		Reason: fmt.Sprintf("the backend %s cannot fork a sandbox; %s can", kind, able),
		Cause:  runner.Unsupported, Fix: "boxer fork --prepare --backend " + able,
	}
	if runs {
		e.Fix = "boxer down && " + e.Fix
	}
	return e.At(scope)
}

// count tells a fault of a number of children that is no setting of the file.
func count(word string, f *config.Faults) int {
	n, err := config.Count(word)
	if err != nil {
		fault(f, "--count", "%s", err)
	}
	return n
}
