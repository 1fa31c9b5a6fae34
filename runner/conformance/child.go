package conformance

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/boxer-ci/boxer/runner"
)

// childQuestions are asked of forks and of places for commands side by side alike.
var childQuestions = []question{
	{"children have both names and are listed", askNames},
	{"the smallest free name is taken", askReuse},
	{"commands run in each child", askInChildren},
	{"remove ends what runs and can be repeated", askRemove},
	{"removing several at once frees every name", askRemoveMany},
	{"closing removes the children of the session", askCloseChildren},
	{"kept children outlast the session", askKeepChildren},
	{"a child of another session is left alone", askOthersChildren},
	{"children can be made at once", askAtOnce},
	{"a making that is called off leaves no name taken", askMakeCalledOff},
	{"a released source makes no more children", askRelease},
	{"files are collected and cleared in a child", askChildFiles},
	{"the end of the context ends a command in a child", askChildContext},
}

// source takes a source from either kind of session.
func (b *bench) source(s runner.Session, o runner.ForkOptions) runner.Source {
	b.Helper()
	var src runner.Source
	var err error
	if f, ok := s.(runner.Forker); ok {
		src, err = f.Freeze(b.ctx(), o)
	} else {
		src, err = s.(runner.Sharer).Share(b.ctx())
	}
	b.ok(err)
	return src
}

// children makes n children of the session's own.
func (b *bench) children(s runner.Session, n int) []runner.Child {
	b.Helper()
	src := b.source(s, runner.ForkOptions{Worktree: runner.Live})
	defer func() { b.ok(src.Release(b.ctx())) }()
	return b.fork(src, n)
}

func (b *bench) fork(src runner.Source, n int) []runner.Child {
	b.Helper()
	all := make([]runner.Child, n)
	for i := range all {
		var err error
		all[i], err = src.Fork(b.ctx())
		b.ok(err)
	}
	return all
}

// listed are the keys of the children there are.
func (b *bench) listed(s runner.Session) []string {
	b.Helper()
	all, err := s.List(b.ctx())
	b.ok(err)
	keys := []string{}
	for _, sb := range all[1:] {
		keys = append(keys, sb.Key)
	}
	return keys
}

// keys are the names of the children with these indexes.
func (b *bench) keys(indexes ...int) []string {
	keys := []string{}
	for _, i := range indexes {
		keys = append(keys, b.Scope.Child(i).Key)
	}
	return keys
}

func (b *bench) lists(s runner.Session, indexes ...int) {
	b.Helper()
	if got, want := b.listed(s), b.keys(indexes...); !slices.Equal(got, want) {
		b.Errorf("the children are %q, want %q", got, want)
	}
}

func askNames(b *bench) {
	s := b.start(nil)
	children := b.children(s, 2)
	equal(b, "the first", children[0], b.Scope.Child(1))
	equal(b, "the second", children[1], b.Scope.Child(2))
	equal(b, "by key", b.sh(s, children[1].Key, "echo yes"), "yes")
	equal(b, "by slug", b.sh(s, children[1].Slug, "echo yes"), "yes")
	all, err := s.List(b.ctx())
	b.ok(err)
	for i, sb := range all[1:] {
		if sb.Slug != children[i].Slug || sb.Parent != b.Scope.Key || sb.State != runner.Running || sb.Lasting || sb.Created.IsZero() {
			b.Errorf("%+v", sb)
		}
	}
	b.lists(s, 1, 2)
}

func askReuse(b *bench) {
	s := b.start(nil)
	src := b.source(s, runner.ForkOptions{})
	b.fork(src, 3)
	b.ok(s.Remove(b.ctx(), b.Scope.Child(2).Slug))
	b.lists(s, 1, 3)
	equal(b, "next", b.fork(src, 1)[0].Index, 2)
	equal(b, "after that", b.fork(src, 1)[0].Index, 4)
	for range 10 {
		b.ok(s.Remove(b.ctx(), b.Scope.Child(1).Key))
		equal(b, "the name that was just freed", b.fork(src, 1)[0].Index, 1)
		equal(b, "it is a new one", b.sh(s, b.Scope.Child(1).Key, "echo new"), "new")
	}
}

func askInChildren(b *bench) {
	s := b.start(nil)
	var wg sync.WaitGroup
	for _, c := range b.children(s, 4) {
		wg.Go(func() {
			r, err := b.run(s, c.Key, shell(fmt.Sprintf("echo $PPID >/dev/null; echo %d; exit %d", c.Index, c.Index)))
			if err != nil || r.out != itoa(c.Index)+"\n" || r.exit.Code != c.Index {
				b.Errorf("%s: %+v, %v", c.Key, r, err)
			}
		})
	}
	wg.Wait()
	_, err := b.run(s, b.Scope.Child(1).Key, runner.Command{Args: []string{"no-such-program-anywhere"}})
	b.refused(err, runner.CommandNotFound)
}

func askRemove(b *bench) {
	s := b.start(nil)
	children := b.children(s, 2)
	first, second := b.daemon(s, children[0].Key), b.daemon(s, children[1].Key)
	running := b.held()
	c := shell(`trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	c.Stdout = running.w
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.run(s, children[0].Key, c)
	}()
	running.line(b, "ready")
	b.ok(s.Remove(b.ctx(), children[0].Key))
	<-ended
	first.gone(b)
	running.gone(b)
	second.lives(b)
	b.lists(s, 2)
	b.ok(s.Remove(b.ctx(), children[0].Key, children[0].Slug)) // gone is no error
	b.ok(s.Remove(b.ctx(), b.Scope.Child(77).Key))
	b.ok(s.Remove(b.ctx()))
	_, err := b.run(s, children[0].Key, shell("echo never"))
	b.refused(err, runner.UnknownScope)
	b.refused(s.Remove(b.ctx(), "sb-000000000000-f1", children[1].Key), runner.UnknownScope)
	second = nil
	b.lists(s) // every one was tried
	equal(b, "the parent lives", b.sh(s, "", "echo yes"), "yes")
}

func askRemoveMany(b *bench) {
	s := b.start(nil)
	children := b.children(s, 6)
	var names []string
	for _, c := range children {
		names = append(names, c.Key)
	}
	var wg sync.WaitGroup
	for range 3 { // several at the same ones
		wg.Go(func() {
			if err := s.Remove(b.ctx(), names...); err != nil {
				b.Error(err)
			}
			if left := b.listed(s); len(left) > 0 {
				b.Errorf("after the removal there are %q", left)
			}
		})
	}
	wg.Wait()
	equal(b, "next", b.children(s, 1)[0].Index, 1)
}

func askCloseChildren(b *bench) {
	s := b.start(nil)
	b.children(s, 1)
	other := b.attach()
	mine := b.children(other, 2)
	h := b.daemon(other, mine[0].Key)
	src := b.source(other, runner.ForkOptions{})
	_ = src // closing releases it
	b.lists(s, 1, 2, 3)
	b.close(other)
	h.gone(b)
	b.lists(s, 1)
	equal(b, "the first lives", b.sh(s, b.Scope.Child(1).Key, "echo yes"), "yes")
}

func askKeepChildren(b *bench) {
	s := b.start(nil)
	children := b.children(s, 3)
	h := b.daemon(s, children[1].Key)
	b.ok(s.Keep(b.ctx(), children[1].Slug))
	b.refused(s.Keep(b.ctx(), b.Scope.Child(9).Key), runner.UnknownScope)
	b.close(s)
	again := b.attach()
	b.lists(again, 2)
	h.lives(b)
	equal(b, "it lives", b.sh(again, children[1].Key, "echo yes"), "yes")
	all, err := again.List(b.ctx())
	b.ok(err)
	equal(b, "lasting", all[1].Lasting, true)
	b.ok(again.Remove(b.ctx(), children[1].Key))
	b.lists(again)
	b.ok(again.Down(b.ctx()))
}

func askOthersChildren(b *bench) {
	s := b.start(nil)
	other := b.attach()
	b.children(s, 1)
	b.children(other, 1)
	b.close(other)
	b.lists(s, 1)
	fresh := b.attach()
	b.children(fresh, 1)
	b.lists(s, 1, 2)
}

func askAtOnce(b *bench) {
	s := b.start(nil)
	src := b.source(s, runner.ForkOptions{})
	const n = 6
	indexes := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, err := src.Fork(b.ctx())
			if err != nil {
				b.Error(err)
			}
			indexes[i] = c.Index
		})
	}
	wg.Wait()
	sort.Ints(indexes)
	if !slices.Equal(indexes, []int{1, 2, 3, 4, 5, 6}) {
		b.Errorf("%v", indexes)
	}
	b.ok(src.Release(b.ctx()))
	b.lists(s, 1, 2, 3, 4, 5, 6)
}

func askMakeCalledOff(b *bench) {
	s := b.start(nil)
	src := b.source(s, runner.ForkOptions{})
	ctx, cancel := context.WithCancelCause(b.ctx())
	cancel(errEnough)
	if _, err := src.Fork(ctx); err == nil {
		b.Error("it was made")
	}
	for i := range 10 { // somewhere on the way
		ctx, cancel := context.WithCancelCause(b.ctx())
		done := make(chan error, 1)
		go func() {
			_, err := src.Fork(ctx)
			done <- err
		}()
		for range i {
			b.listed(s)
		}
		cancel(errEnough)
		if err := <-done; err == nil {
			b.ok(s.Remove(b.ctx(), b.listed(s)...))
		}
	}
	b.lists(s)
	equal(b, "next", b.fork(src, 1)[0].Index, 1)
}

func askRelease(b *bench) {
	s := b.start(nil)
	src := b.source(s, runner.ForkOptions{})
	c := b.fork(src, 1)[0]
	b.ok(src.Release(b.ctx()))
	b.ok(src.Release(b.ctx()))
	equal(b, "the child lives on", b.sh(s, c.Key, "echo yes"), "yes")
	if _, err := src.Fork(b.ctx()); err == nil {
		b.Error("it made a child")
	}
}

func askChildFiles(b *bench) {
	s := b.start(nil)
	c := b.children(s, 1)[0]
	pick := runner.Pick{Base: b.Scope.Worktree, Patterns: []string{"r/*.xml"}}
	b.sh(s, c.Key, "mkdir r; echo 1 >r/1.xml; echo 2 >r/2.txt; ln -s /etc/passwd r/l.xml")
	got, _ := b.collect(s, c.Key, pick)
	b.brings("collect", got, "r/1.xml")
	b.ok(s.Clear(b.ctx(), c.Key, pick))
	got, _ = b.collect(s, c.Key, pick)
	b.brings("after the clearing", got)
	equal(b, "the other is there", b.sh(s, c.Key, "cat r/2.txt"), "2")
}

func askChildContext(b *bench) {
	s := b.start(nil)
	c := b.children(s, 1)[0]
	ctx, cancel := contextOf(b)
	h := b.held()
	cmd := shell(`trap 'exit 3' TERM; echo ready; while :; do sleep 0.02; done`)
	cmd.Stdout, cmd.Grace = h.w, patience
	go func() { h.line(b, "ready"); cancel(errEnough) }()
	r, err := b.runIn(ctx, s, c.Key, cmd)
	equal(b, "error", err, errEnough)
	equal(b, "exit", r.exit, runner.Exit{Code: 3})
}
