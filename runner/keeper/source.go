package keeper

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"github.com/boxer-ci/boxer/runner"
)

// source is where a lease's children come from. For an engine that cannot copy there is no image: each child is a
// place for commands in the parent.
type source struct {
	id      string
	lease   *lease
	options runner.ForkOptions
	counts  bool // holds book.want

	use   sync.RWMutex // for reading while a child is made, for writing to make or release the image
	image Image
	taken bool // the image is there
	over  bool
}

// freeze takes the parent's state for children to be made of. Where the caller wants a number of lasting children in
// all, nobody else counts or makes them until it is released, and no image is taken if there are enough.
func (b *book) freeze(ctx context.Context, l *lease, o runner.ForkOptions) (any, error) {
	forker, ok := b.engine.(Forker)
	if !ok {
		return nil, b.unsupported("cannot copy a running sandbox")
	}
	if err := b.prep.wait(ctx); err != nil {
		return nil, at(err, b.scope)
	}
	if !b.engine.Alive(Parent) {
		return nil, (&runner.Error{
			Reason: "the processes of this sandbox have ended, so it cannot be forked", Cause: runner.NotForkable,
			Fix: "boxer down",
		}).At(b.scope)
	}
	if o.Worktree == "" {
		o.Worktree = runner.Live
	}
	s := &source{id: rand.Text(), lease: l, options: o, counts: o.Lasting && o.Want > 0}
	if s.counts {
		select {
		case <-b.want:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b.enter(s)
	have := b.have(o)
	var err error
	if !s.counts || len(have) < o.Want {
		err = s.freeze(ctx, forker)
	}
	if err == nil {
		err = context.Cause(ctx) // then nobody would ever release it
	}
	if err != nil {
		return nil, errors.Join(err, b.release(l, s.id))
	}
	return frozen{s.id, have}, nil
}

// share makes a source that has no image.
func (b *book) share(ctx context.Context, l *lease) (any, error) {
	if _, ok := b.engine.(Sharer); !ok {
		return nil, b.unsupported("cannot run commands side by side in one sandbox")
	}
	if err := b.prep.wait(ctx); err != nil {
		return nil, at(err, b.scope)
	}
	s := &source{id: rand.Text(), lease: l, options: runner.ForkOptions{Worktree: runner.Live}}
	b.enter(s)
	return frozen{Source: s.id, Have: []runner.Child{}}, nil
}

func (b *book) unsupported(what string) error {
	return (&runner.Error{Reason: "the " + b.kind + " backend " + what, Cause: runner.Unsupported, Fix: "boxer doctor"}).At(b.scope)
}

func (b *book) enter(s *source) {
	b.state.Lock()
	defer b.state.Unlock()
	b.sources[s.id] = s
}

func (b *book) sourcesOf(l *lease) []string {
	b.state.Lock()
	defer b.state.Unlock()
	var ids []string
	for id, s := range b.sources {
		if s.lease == l {
			ids = append(ids, id)
		}
	}
	return ids
}

// have lists the lasting children that live.
func (b *book) have(o runner.ForkOptions) []runner.Child {
	have := []runner.Child{}
	if !o.Lasting {
		return have
	}
	b.state.Lock()
	var lasting []*child
	for _, c := range b.children {
		if c.lasting && c.ready && c.removal == nil {
			lasting = append(lasting, c)
		}
	}
	b.state.Unlock()
	for _, c := range lasting {
		if b.engine.Alive(c.id) {
			have = append(have, c.Child)
		}
	}
	slices.SortFunc(have, func(x, y runner.Child) int { return x.Index - y.Index })
	return have
}

// freeze takes the image if it is not there. Children that are being made do not keep others waiting: only who has
// to take it asks for the whole lock.
func (s *source) freeze(ctx context.Context, f Forker) (err error) {
	s.use.RLock()
	settled := s.taken || s.over
	s.use.RUnlock()
	if settled {
		return nil
	}
	s.use.Lock()
	defer s.use.Unlock()
	if s.taken || s.over {
		return nil
	}
	s.image, err = f.Freeze(ctx, s.options.Worktree)
	s.taken = err == nil
	return err
}

// fork makes one child from the source.
func (b *book) fork(ctx context.Context, l *lease, id string) (any, error) {
	b.state.Lock()
	s := b.sources[id]
	b.state.Unlock()
	if s == nil || s.lease != l {
		return nil, errReleased
	}
	forker, copies := b.engine.(Forker)
	if copies {
		if err := s.freeze(ctx, forker); err != nil { // if it was not needed at first
			return nil, err
		}
	}
	s.use.RLock()
	defer s.use.RUnlock()
	if s.over {
		return nil, errReleased
	}
	return b.make(ctx, l, s.options.Worktree, s.options.Lasting, func(ctx context.Context, c *child) error {
		if copies {
			return forker.Fork(ctx, s.image, c.id, c.Child)
		}
		return b.engine.(Sharer).Share(ctx, c.id, c.Child)
	})
}

var errReleased = errors.New("the source of children was released")

// release frees the source once; children live on.
func (b *book) release(l *lease, id string) error {
	b.state.Lock()
	s := b.sources[id]
	if s == nil || s.lease != l {
		b.state.Unlock()
		return nil
	}
	delete(b.sources, id)
	b.state.Unlock()
	s.use.Lock()
	s.over = true
	s.use.Unlock()
	if s.counts {
		b.want <- struct{}{}
	}
	if !s.taken {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	return b.engine.(Forker).Release(ctx, s.image)
}
