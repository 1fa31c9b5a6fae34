package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
)

type packUseOptions struct {
	deps
	packRef
	scoped scoped
}

func newPackUse(d deps, run func(context.Context, packUseOptions) error) *cobra.Command {
	o := packUseOptions{deps: d}
	c := &cobra.Command{
		Use: "use NAME | use --file PATH", Short: "Start the sandbox of this worktree from a pack",
		Long: "Starts the sandbox of this worktree from a pack, and leaves it running as boxer up does. The services are started\n" +
			"and waited for; their init and the setup commands are not run, for what they did is in the pack. It is refused where\n" +
			"boxer.yaml has other services or setup than the pack was made with.",
	}
	o.file(c)
	d.setting(c.Flags(), "env", "let a variable into the sandbox: `NAME`, NAME=value or PREFIX_* (repeatable)")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		o.read(d, "use", args, f)
		o.scoped = d.resolve(f)
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// packUseAnswer is the document of pack use --json.
type packUseAnswer struct {
	Schema  int            `json:"schema"`
	Started bool           `json:"started"` // always true: what runs already is refused
	Cleanup string         `json:"cleanup"` // "kernel", "supervised" or "best effort"
	Sandbox runner.Sandbox `json:"sandbox"`
	Pack    packInfo       `json:"pack"`
}

func runPackUse(ctx context.Context, o packUseOptions) error {
	p, err := o.open(o.deps)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	defer p.Close()
	o.made = p.Backend
	o.sayDoubts(o.scoped)
	session, err := o.start(ctx, p)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	return errors.Join(at(o.keep(ctx, session, p), o.scoped.scope), session.Close())
}

// start refuses what can be refused, the cheapest first, and starts the sandbox.
func (o packUseOptions) start(ctx context.Context, p *pack.Pack) (runner.Session, error) {
	if err := o.fits(p.Manifest); err != nil {
		return nil, err
	}
	running, err := o.packKind(ctx, o.scoped, "boxer pack use "+o.words()+" --backend %s")
	if err != nil {
		return nil, err
	}
	if running != "" {
		return nil, &runner.Error{
			Reason: "a sandbox runs here already, and a pack is what a new one starts from", Cause: runner.AlreadyRunning, Fix: "boxer down",
		}
	}
	worktree := runner.Live
	if p.Worktree != nil {
		worktree = runner.Private
	}
	spec := o.scoped.spec(o.Env, worktree)
	if err := o.sameConfig(p.Manifest, spec); err != nil {
		return nil, err
	}
	if err := p.Verify(ctx); err != nil {
		return nil, o.at(err)
	}
	if now := systemName(); p.System != now && p.System != "" {
		o.say("the pack was made on %s and this is %s: programs that it does not bring itself may be others, or missing", p.System, now)
	}
	return o.startFrom(ctx, p, spec)
}

// fits refuses a pack of another kind of machine or of a backend that was not asked for.
func (o packUseOptions) fits(m pack.Manifest) error {
	if here := runtime.GOOS + "/" + runtime.GOARCH; m.OS+"/"+m.Arch != here {
		return o.at(&runner.Error{
			Reason: fmt.Sprintf("the pack was made on %s/%s, and this is %s", m.OS, m.Arch, here), Cause: runner.PackForeign,
		})
	}
	if want := o.scoped.Backend; want != "auto" && want != m.Backend && o.packs(want) {
		return o.at(&runner.Error{
			Reason: fmt.Sprintf("the pack was made with the backend %s, and %s is asked for", m.Backend, want), Cause: runner.PackForeign,
			Fix: "boxer pack use " + o.words() + " --backend " + m.Backend,
		})
	}
	return nil
}

func (o packUseOptions) sameConfig(m pack.Manifest, spec runner.Spec) error {
	different := m.Config.Differences(pack.ConfigOf(spec, o.scoped.scope.Worktree))
	if len(different) == 0 {
		return nil
	}
	return &runner.Error{
		Reason: "the configuration asks for another sandbox than the one in the pack " + m.Name, Cause: runner.ConfigChanged,
		Fix: o.again(), Output: different,
	}
}

func (o packUseOptions) startFrom(ctx context.Context, p *pack.Pack, spec runner.Spec) (runner.Session, error) {
	b, err := o.backend(p.Backend)
	if err != nil {
		return nil, err
	}
	unpacker, ok := b.(runner.Unpacker)
	if !ok {
		return nil, o.cannotPack(p.Backend, "boxer pack use "+o.words()+" --backend %s", o.scoped.scope)
	}
	content, err := p.Stream(ctx)
	if err != nil {
		return nil, o.at(err)
	}
	defer content.Close()
	session, err := unpacker.StartPacked(ctx, o.scoped.scope, spec, runner.PackStream{From: content, Size: p.Body.Unpacked, LastPID: p.LastPID}, o.step)
	switch runner.CauseOf(err) {
	case runner.PackDamaged, runner.PackTruncated, runner.PackUnsafe, runner.PackUnfit:
		err = o.at(err)
	}
	return session, err
}

func (o packUseOptions) keep(ctx context.Context, session runner.Session, p *pack.Pack) error {
	if err := session.Keep(ctx); err != nil {
		return err
	}
	list, err := session.List(ctx)
	if err != nil {
		return err
	}
	o.say("started from the pack %s, %s old: neither init nor setup was run", p.Name, age(o.now().Sub(p.Created)))
	if p.Worktree != nil {
		o.say("it has a private worktree: what is written in it does not reach %s", o.scoped.scope.Worktree)
	}
	return o.answer(packUseAnswer{schema, true, session.Cleanup(), list[0], infoOf(p.Manifest, o.path)}, list[0].Slug)
}
