package keeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// book knows who made what. A child belongs to the lease that made it and goes with it, unless it is lasting; the
// keeper itself goes with the last lease, unless it is.
type book struct {
	scope  runner.Scope
	kind   string
	dir    string // the sandbox's private folder
	engine Engine
	prep   *preparation

	state    sync.Mutex
	closing  bool
	lasting  bool
	created  time.Time
	leases   map[string]*lease
	children map[int]*child // by index
	sources  map[string]*source
	lastID   ID

	want chan struct{} // holds one token while nobody counts lasting children to make more of them
}

// lease is one session's hold.
type lease struct {
	id     string
	pid    int // of the session's process
	since  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	calls  sync.WaitGroup // grows only under book.state, and not once the lease is dropped
}

// child is one child, from the moment its name is taken to the moment its removal has ended.
type child struct {
	runner.Child
	id       ID
	lease    *lease
	lasting  bool
	created  time.Time
	worktree runner.Worktree
	abort    context.CancelCauseFunc // of its making
	born     chan struct{}           // closed when its making has ended, well or not
	ready    bool                    // it is made
	users    []*lease                // one for each call that is at work in it
	removal  chan struct{}           // not nil while it is being removed; closed at the end of that
}

// removeTime bounds a removal. It does not end with who asked for it: a half-removed child helps nobody.
const removeTime = 30 * time.Second

func newBook(set setup, engine Engine) *book {
	b := &book{
		scope: set.Scope, kind: set.Kind, dir: set.Dir, engine: engine, prep: newPreparation(), created: set.Created,
		leases: map[string]*lease{}, children: map[int]*child{}, sources: map[string]*source{},
		want: make(chan struct{}, 1),
	}
	b.want <- struct{}{}
	return b
}

// open makes a lease.
func (b *book) open(ctx context.Context, pid int) *lease {
	l := &lease{id: rand.Text(), pid: pid, since: time.Now()}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	b.state.Lock()
	defer b.state.Unlock()
	if !b.closing { // else its calls are told that the keeper is ending
		b.leases[l.id] = l
	}
	return l
}

// begin registers a call of the lease, which the caller ends with calls.Done.
func (b *book) begin(id string) (*lease, error) {
	b.state.Lock()
	defer b.state.Unlock()
	l := b.leases[id]
	if l == nil || b.closing {
		return nil, errGone("the sandbox is ending, or its session is closed").At(b.scope)
	}
	l.calls.Add(1)
	return l, nil
}

// close lets no call begin any more.
func (b *book) close() {
	b.state.Lock()
	defer b.state.Unlock()
	b.closing = true
}

// drop ends the lease's calls and removes what it made and did not keep. ends tells that the keeper is to end with
// it; then nothing is removed one by one.
func (b *book) drop(l *lease) (ends bool, err error) {
	b.state.Lock()
	delete(b.leases, l.id)
	ends = b.closing || (len(b.leases) == 0 && !b.lasting)
	b.closing = ends
	b.state.Unlock()
	l.cancel(errGone("its session was closed"))
	if ends {
		return true, nil
	}
	err = b.removeChildren(b.childrenOf(l)) // ends commands in them at once
	l.calls.Wait()
	err = errors.Join(err, b.removeChildren(b.childrenOf(l))) // made while the first were removed
	for _, id := range b.sourcesOf(l) {
		err = errors.Join(err, b.release(l, id))
	}
	return false, err
}

func (b *book) childrenOf(l *lease) []*child {
	b.state.Lock()
	defer b.state.Unlock()
	var out []*child
	for _, c := range b.children {
		if c.lease == l && !c.lasting && c.ready {
			out = append(out, c)
		}
	}
	return out
}

// take takes the smallest free name for a child that is about to be made.
func (b *book) take(ctx context.Context, l *lease, w runner.Worktree, lasting bool) (*child, context.Context) {
	b.state.Lock()
	defer b.state.Unlock()
	index := 1
	for b.children[index] != nil {
		index++
	}
	b.lastID++
	c := &child{
		Child: b.scope.Child(index), id: b.lastID, lease: l, lasting: lasting, worktree: w,
		created: time.Now(), born: make(chan struct{}),
	}
	ctx, c.abort = context.WithCancelCause(ctx)
	b.children[index] = c
	return c, ctx
}

// make makes a child and enters it in the book, or leaves nothing of it.
func (b *book) make(ctx context.Context, l *lease, w runner.Worktree, lasting bool, do func(context.Context, *child) error) (runner.Child, error) {
	c, ctx := b.take(ctx, l, w, lasting)
	defer c.abort(nil)
	defer close(c.born)
	err := do(ctx, c)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // nobody will ever hear of it
	}
	b.state.Lock()
	c.ready = true
	if err == nil && lasting {
		b.lasting = true // its keeper must last too
	}
	b.state.Unlock()
	if err != nil {
		return runner.Child{}, errors.Join(err, b.removeChildren([]*child{c}))
	}
	return c.Child, nil
}

// removeChildren removes each, also when another is already at it, and frees their names afterwards.
func (b *book) removeChildren(children []*child) error {
	var mine []*child
	var others []chan struct{}
	b.state.Lock()
	for _, c := range children {
		switch {
		case b.children[c.Index] != c || slices.Contains(mine, c): // gone already
		case c.removal != nil:
			others = append(others, c.removal)
		default:
			c.removal = make(chan struct{})
			mine = append(mine, c)
		}
	}
	b.state.Unlock()
	err := b.removeMine(mine)
	for _, over := range others {
		<-over
	}
	return err
}

func (b *book) removeMine(children []*child) error {
	if len(children) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	ids := make([]ID, len(children))
	for i, c := range children {
		ids[i] = c.id
	}
	first := b.engine.Remove(ctx, ids)
	var errs []error
	for _, c := range children {
		var err error
		if first != nil { // which of them was it?
			err = b.engine.Remove(ctx, []ID{c.id})
		}
		b.state.Lock()
		if err == nil {
			delete(b.children, c.Index)
		} else {
			errs = append(errs, fmt.Errorf("remove %s: %w", c.Key, err))
		}
		close(c.removal)
		c.removal = nil
		b.state.Unlock()
	}
	return errors.Join(errs...)
}

// remove removes children by name. One whose making is under way is not made.
func (b *book) remove(names []string) error {
	var errs []error
	var children []*child
	for _, name := range names {
		index, ok := b.scope.ChildIndex(name)
		if !ok {
			errs = append(errs, b.unknown(name))
			continue
		}
		if c := b.child(index); c != nil {
			c.abort(errGone(c.Key + " was removed while it was made"))
			<-c.born
			children = append(children, c)
		}
	}
	return errors.Join(append(errs, b.removeChildren(children))...)
}

func (b *book) child(index int) *child {
	b.state.Lock()
	defer b.state.Unlock()
	return b.children[index]
}

func (b *book) unknown(name string) error {
	return (&runner.Error{
		Reason: fmt.Sprintf("there is no sandbox %q here", name), Cause: runner.UnknownScope, Fix: "boxer ls",
	}).At(b.scope)
}

// use turns a name into a sandbox that can be used, and waits for one that is being made. Until done is called it is
// held by the lease.
func (b *book) use(ctx context.Context, l *lease, name string) (id ID, done func(), err error) {
	if name == "" || b.scope.Names(name) {
		if err := b.prep.wait(ctx); err != nil {
			return 0, nil, at(err, b.scope)
		}
		return Parent, func() {}, nil // any lease at all holds the parent
	}
	index, ok := b.scope.ChildIndex(name)
	if !ok {
		return 0, nil, b.unknown(name)
	}
	c := b.child(index)
	if c == nil {
		return 0, nil, b.unknown(name)
	}
	select {
	case <-c.born:
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	b.state.Lock()
	defer b.state.Unlock()
	if b.children[index] != c || c.removal != nil {
		return 0, nil, b.unknown(name)
	}
	c.users = append(c.users, l)
	return c.id, func() { b.leave(l, c) }, nil
}

// leave takes back one use.
func (b *book) leave(l *lease, c *child) {
	b.state.Lock()
	defer b.state.Unlock()
	i := slices.Index(c.users, l)
	c.users = slices.Delete(c.users, i, i+1)
}

// living refuses a sandbox whose processes have ended.
func (b *book) living(id ID, name string) error {
	if b.engine.Alive(id) {
		return nil
	}
	fix := "boxer down"
	if id != Parent {
		fix = "boxer fork rm " + name
	}
	return runner.Died(fix).At(b.scope)
}

// keep makes children and the keeper lasting.
func (b *book) keep(names []string) error {
	b.state.Lock()
	defer b.state.Unlock()
	var keep []*child
	for _, name := range names {
		index, ok := b.scope.ChildIndex(name)
		if !ok || b.children[index] == nil {
			return b.unknown(name)
		}
		keep = append(keep, b.children[index])
	}
	for _, c := range keep {
		c.lasting = true
	}
	b.lasting = true
	return nil
}

// busy refuses commands in a parent on whose own files the children of a run stand.
func (b *book) busy() error {
	if b.prep.worktree() != runner.Private {
		return nil
	}
	b.state.Lock()
	defer b.state.Unlock()
	who := ""
	for _, s := range b.sources {
		if s.options.Worktree == runner.Private {
			who = s.lease.who()
		}
	}
	for _, c := range b.children {
		if c.worktree == runner.Private {
			who = c.lease.who()
		}
	}
	if who == "" {
		return nil
	}
	return (&runner.Error{
		Reason: "the files of this sandbox lie below those of a run's children (" + who + "), so no command may change them now",
		Cause:  runner.IsBusy, Fix: "boxer ls",
	}).At(b.scope)
}

func (l *lease) who() string {
	return fmt.Sprintf("process %d, since %s", l.pid, l.since.Format(time.TimeOnly))
}

// list is the parent and then its children by index.
func (b *book) list(usage bool) []runner.Sandbox {
	parent := runner.Sandbox{
		Key: b.scope.Key, Slug: b.scope.Slug, State: b.parentState(), Backend: b.kind, Worktree: b.scope.Worktree,
		Created: b.created,
	}
	b.state.Lock()
	parent.Lasting = b.lasting
	children := make([]*child, 0, len(b.children))
	for _, c := range b.children {
		children = append(children, c)
	}
	slices.SortFunc(children, func(x, y *child) int { return x.Index - y.Index })
	all := []runner.Sandbox{parent}
	ids := []ID{Parent}
	for _, c := range children {
		state := runner.Starting
		if c.ready {
			state = runner.Running
		}
		all = append(all, runner.Sandbox{
			Key: c.Key, Slug: c.Slug, Parent: b.scope.Key, State: state, Backend: b.kind, Worktree: b.scope.Worktree,
			Lasting: c.lasting, Created: c.created,
		})
		ids = append(ids, c.id)
	}
	b.state.Unlock()
	for i := range all {
		if all[i].State == runner.Starting {
			continue
		}
		if i > 0 && !b.engine.Alive(ids[i]) {
			all[i].State = runner.Dead
		}
		if usage {
			all[i].Usage, _ = b.engine.Usage(ids[i]) // 0 is unknown
		}
	}
	return all
}

func (b *book) parentState() runner.State {
	switch {
	case !b.prep.done():
		return runner.Starting
	case !b.engine.Alive(Parent):
		return runner.Dead
	case b.busy() != nil:
		return runner.Busy
	default:
		return runner.Running
	}
}
