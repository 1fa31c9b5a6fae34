package keeper

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// tidyUp answers who looks for what nobody holds in this keeper. Where that is all of it, the keeper ends.
func (s *server) tidyUp(conn *wire.Conn, q tidying) {
	got, err := s.tidy(q)
	if got.Ends && !q.Dry {
		s.end(errGone("the sandbox was reclaimed, for " + got.Items[0].Reason))
		<-s.ended
		err = errors.Join(err, s.endErr)
	}
	conn.Reply(got, err)
}

// tidy removes what no lease holds and nobody can use any more.
func (b *book) tidy(q tidying) (tidied, error) {
	why := b.hopeless(q.Gone)
	dead := b.deadChildren(why != "" && !q.Gone)
	got, claimed, err := b.claim(why, dead, q.Dry)
	if err != nil || got.Ends {
		return got, err
	}
	for _, c := range claimed {
		if !q.Dry {
			if err := b.removeMine([]*child{c.child}); err != nil {
				got.Stuck = append(got.Stuck, wire.EncodeError(b.stuckChild(c.child, err)))
				continue
			}
		}
		got.Items = append(got.Items, c.garbage)
	}
	err = b.tidyImages(q.Dry, &got)
	return got, err
}

// hopeless says why the parent can be of no use any more, "" if it can.
func (b *book) hopeless(gone bool) string {
	switch {
	case gone:
		return "its worktree " + b.scope.Worktree + " is gone"
	case b.prep.done() && !b.engine.Alive(Parent):
		return "its processes have ended"
	}
	return ""
}

// deadChildren are those that can be of no use any more, and why. One that is being made is nobody's to judge.
func (b *book) deadChildren(orphans bool) map[*child]string {
	b.state.Lock()
	var ready []*child
	for _, c := range b.children {
		if c.ready {
			ready = append(ready, c)
		}
	}
	b.state.Unlock()
	dead := map[*child]string{}
	for _, c := range ready {
		switch {
		case !b.engine.Alive(c.id):
			dead[c] = "its processes have ended"
		case orphans:
			dead[c] = "the processes of its parent have ended"
		}
	}
	return dead
}

// claimed is a child that goes.
type claimed struct {
	child   *child
	garbage runner.Garbage
}

// claim decides what goes and, if this is no dry run, sees in the same moment that nobody gets hold of it any more.
func (b *book) claim(why string, dead map[*child]string, dry bool) (got tidied, mine []claimed, err error) {
	b.state.Lock()
	defer b.state.Unlock()
	if b.closing {
		return got, nil, errGone("the sandbox is ending").At(b.scope)
	}
	if why != "" && len(b.leases) == 0 {
		b.closing = !dry
		return b.all(why), nil, nil
	}
	if why != "" {
		got.Skipped = append(got.Skipped, b.parentGarbage(why+", but it is held by "+b.holders()))
	}
	for _, c := range b.inOrder() {
		reason := dead[c]
		if reason == "" || c.removal != nil {
			continue
		}
		if by := b.holderOf(c); by != "" {
			got.Skipped = append(got.Skipped, b.childGarbage(c, reason+", but it is held by "+by))
			continue
		}
		mine = append(mine, claimed{c, b.childGarbage(c, reason)})
		if !dry {
			c.removal = make(chan struct{})
		}
	}
	return got, mine, nil
}

// all is what goes with the keeper.
func (b *book) all(why string) tidied {
	got := tidied{Ends: true}
	got.Items = append(got.Items, b.parentGarbage(why))
	for _, c := range b.inOrder() {
		got.Items = append(got.Items, b.childGarbage(c, "its parent is reclaimed"))
	}
	return got
}

func (b *book) parentGarbage(reason string) runner.Garbage {
	return runner.Garbage{Kind: "sandbox", Name: b.scope.Slug, Path: b.dir, Reason: reason}
}

func (b *book) childGarbage(c *child, reason string) runner.Garbage {
	return runner.Garbage{Kind: "child", Name: c.Slug, Path: b.dir, Reason: reason}
}

func (b *book) inOrder() []*child {
	all := make([]*child, 0, len(b.children))
	for _, c := range b.children {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *child) int { return x.Index - y.Index })
	return all
}

// holders names all leases, the oldest first.
func (b *book) holders() string {
	var all []*lease
	for _, l := range b.leases {
		all = append(all, l)
	}
	slices.SortFunc(all, func(x, y *lease) int { return x.since.Compare(y.since) })
	text := all[0].who()
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// holderOf names the lease that has made the child, if it is still there, or one that is at work in it.
func (b *book) holderOf(c *child) string {
	switch {
	case b.leases[c.lease.id] == c.lease:
		return c.lease.who()
	case len(c.users) > 0:
		return c.users[0].who()
	}
	return ""
}

func (b *book) stuckChild(c *child, err error) error {
	e := &runner.Error{
		Reason: "the child " + c.Slug + " could not be reclaimed", Cause: notReclaimed, Fix: "boxer fork rm " + c.Slug,
	}
	return e.At(b.scope).Because(err)
}

// tidyImages removes images that no source has.
func (b *book) tidyImages(dry bool, got *tidied) error {
	t, ok := b.engine.(Tidier)
	if !ok {
		return nil
	}
	strays, err := t.Strays()
	if err != nil {
		return err
	}
	for _, path := range strays {
		name := filepath.Base(path) + " of " + b.scope.Slug
		g := runner.Garbage{Kind: "image", Name: name, Path: path, Reason: "no run makes children from it"}
		if !dry {
			if err := removeTree(path); err != nil {
				got.Stuck = append(got.Stuck, wire.EncodeError(stuck(g, err)))
				continue
			}
		}
		got.Items = append(got.Items, g)
	}
	return nil
}

// askTidy has the keeper of the record tidy up.
func askTidy(ctx context.Context, r record, q tidying) (tidied, error) {
	var got tidied
	conn, theirs, err := connect(ctx, r)
	if err != nil {
		return got, err
	}
	defer conn.Close()
	if theirs.Protocol != wire.Protocol {
		return got, otherVersion(theirs).At(r.Scope)
	}
	conn.Unix().SetDeadline(time.Now().Add(removeTime + closeTime + sweepTime))
	defer context.AfterFunc(ctx, func() { conn.Unix().SetDeadline(time.Unix(1, 0)) })()
	err = conn.Send(wire.KindRequest, request{Op: opTidy, Tidy: q})
	if err == nil {
		var f *wire.Frame
		if f, err = conn.Receive(); err == nil {
			defer f.Close()
			err = decode(f, &got)
			return got, err
		}
	}
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	return got, errGone("the keeper of this sandbox does not answer").At(r.Scope).Because(err)
}
