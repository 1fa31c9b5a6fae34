package cmd

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type forkOptions struct {
	deps
	scoped  scoped
	Prepare bool
	Count   int // children the scope should have
}

func newFork(d deps, run func(context.Context, forkOptions) error) *cobra.Command {
	o := forkOptions{deps: d}
	var number string
	c := &cobra.Command{
		Use: "fork", Short: "Branch the running sandbox into children",
		Long: "Branches the running sandbox of this worktree into children that start from its state as it is now.\n" +
			"The names of all children go to stdout, one a line.\n\n" +
			"All children see the same worktree: two that write one file race, as two processes on one machine do.\n" +
			"On gvisor memory is copied, where smolvm shares it copy-on-write.",
	}
	c.Flags().BoolVar(&o.Prepare, "prepare", false, "start the sandbox as a branch source if it is none")
	c.Flags().StringVar(&number, "count", "1", "`number` of children that the scope should have")
	d.answers(c.Flags())
	for _, name := range inherited {
		c.Flags().String(name, "", "")
		c.Flags().MarkHidden(name) //nolint:errcheck // it is there
	}
	c.RunE = action(d, func(args []string, f *config.Faults) {
		noArgs(args, f)
		for _, name := range inherited {
			if c.Flags().Changed(name) {
				fault(f, "--"+name, "a child inherits its parent's mounts and cannot have others (boxer shard gives each child a worktree of its own)")
			}
		}
		o.Count = count(number, f)
		o.scoped = d.resolve(f)
	}, func(ctx context.Context) error { return run(ctx, o) })
	c.AddCommand(newForkList(d, runForkList), newForkRemove(d, runForkRemove))
	return c
}

// inherited are flags that would give a child other files than its parent has. They exist to be refused for what they
// ask, and not as unknown words.
var inherited = []string{"worktree", "mount", "volume", "hide", "show"}

// forkAnswer is the document of fork --json.
type forkAnswer struct {
	Schema   int         `json:"schema"`
	Children []childName `json:"children"` // all that count, by index
	Made     int         `json:"made"`     // how many of them are new
}

type childName struct {
	Key   string `json:"key"`
	Slug  string `json:"slug"`
	Index int    `json:"index"`
}

func runFork(ctx context.Context, o forkOptions) error {
	o.sayDoubts(o.scoped)
	session, err := o.source(ctx)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	forker, ok := session.(runner.Forker)
	if !ok {
		kind, _ := o.recordedKind(o.scoped.scope)
		return errors.Join(o.unsupported(kind, true, o.scoped.scope), session.Close())
	}
	if err := o.keepStarted(ctx, session); err != nil {
		return errors.Join(at(err, o.scoped.scope), session.Close())
	}
	return errors.Join(at(o.fork(ctx, forker), o.scoped.scope), session.Close())
}

func (o forkOptions) keepStarted(ctx context.Context, session runner.Session) error {
	if !session.Started() {
		return nil
	}
	return session.Keep(ctx)
}

// source is the session to fork. Without --prepare nothing is started, and what runs is taken as it is.
func (o forkOptions) source(ctx context.Context) (runner.Session, error) {
	kind, dead, err := o.running(ctx, o.scoped.scope)
	if err != nil {
		return nil, err
	}
	if dead && o.Prepare {
		o.say("the sandbox that ran here has ended: what is left of it is removed, its children included")
		if _, err := o.takeDown(ctx, o.scoped.scope); err != nil {
			return nil, err
		}
		kind = ""
	} else if dead {
		return nil, notForkable(o.scoped.scope)
	}
	if kind == "" {
		kind = o.scoped.Backend
		if kind != "auto" && !o.forks(kind) {
			return nil, o.unsupported(kind, false, o.scoped.scope)
		}
		if !o.Prepare {
			return nil, notForkable(o.scoped.scope)
		}
		return o.start(ctx, o.scoped, runner.Live)
	}
	if err := sameKind(o.scoped, kind); err != nil {
		return nil, err
	}
	if !o.forks(kind) {
		return nil, o.unsupported(kind, true, o.scoped.scope)
	}
	session, err := o.attach(ctx, o.scoped.scope)
	if err != nil || !o.Prepare {
		return session, err
	}
	restarted, err := o.prepare(ctx, session)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	if !restarted {
		o.say("this sandbox is a branch source already, as every one on %s is: nothing was restarted", kind)
	}
	return session, nil
}

// notForkable is the refusal where no branch source runs, to the letter as people were told it.
func notForkable(scope runner.Scope) *runner.Error {
	e := &runner.Error{
		Reason: "this sandbox was not started as a branch source, so it cannot be forked. Preparing restarts it, which ends whatever is running in it",
		Cause:  runner.NotForkable, Fix: "boxer fork --prepare",
	}
	return e.At(scope)
}

func (o forkOptions) fork(ctx context.Context, forker runner.Forker) error {
	source, err := forker.Freeze(ctx, runner.ForkOptions{Worktree: runner.Live, Lasting: true, Want: o.Count})
	if err != nil {
		return err
	}
	had := source.Have()
	made, err := forkMissing(ctx, source, o.Count-len(had))
	err = errors.Join(err, source.Release(context.WithoutCancel(ctx)))
	if len(had) > o.Count {
		o.say("there are %d children, more than the %d asked for: none was removed (boxer fork rm NAME does)", len(had), o.Count)
	} else if len(made) == 0 && err == nil {
		o.say("there are %d children already: none was made", len(had))
	}
	doc, lines := forkAnswer{schema, []childName{}, len(made)}, []string{}
	all := append(append([]runner.Child(nil), had...), made...)
	sort.Slice(all, func(i, j int) bool { return all[i].Index < all[j].Index })
	for _, c := range all {
		doc.Children = append(doc.Children, childName(c))
		lines = append(lines, c.Slug)
	}
	return errors.Join(err, o.answer(doc, lines...))
}

// atOnce is how many children start at the same time: restoring one is mostly work for a processor.
const atOnce = 8

// forkMissing makes n children. What could not be made is in the error; the others are returned, and live.
func forkMissing(ctx context.Context, source runner.Source, n int) ([]runner.Child, error) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		made []runner.Child
		errs []error
		slot = make(chan struct{}, atOnce)
	)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		slot <- struct{}{}
		wg.Go(func() {
			defer func() { <-slot }()
			child, err := source.Fork(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			made = append(made, child)
		})
	}
	wg.Wait()
	if len(errs) == 0 && ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return made, summary(n, errs)
}

// summary is one error for many of the same kind: sixteen children that do not fit into memory are one thing to mend.
func summary(n int, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 && n == 1 {
		return errs[0]
	}
	return fmt.Errorf("%d of %d children could not be made: %w", len(errs), n, errs[0])
}
