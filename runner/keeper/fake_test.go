package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/boxer-ci/boxer/runner"
)

// fake is an engine of nothing but books. What it is to fail at is told by files in the worktree, so that a test
// can reach it in its own process.
type fake struct {
	env Env

	mu     sync.Mutex
	alive  map[ID]bool
	images int
	second chan struct{} // closed when two forks are under way
}

func newFake(env Env) (Engine, error) { return &fake{env: env, alive: map[ID]bool{}}, nil }

// told tells whether the test asked for something, and takes the request away.
func (f *fake) told(what string) bool {
	return os.Remove(filepath.Join(f.env.Scope.Worktree, what)) == nil
}

func (f *fake) Boot(context.Context, runner.Spec) (runner.Machine, error) {
	f.alive[Parent] = true
	return machine{f}, nil
}

type machine struct{ *fake }

func (m machine) Exec(ctx context.Context, c runner.Command) (runner.Exit, error) {
	return m.fake.Exec(ctx, Parent, c)
}

func (m machine) Serve(context.Context, string, runner.Command) (runner.ServiceProcess, error) {
	return nil, errors.New("the fake has no services")
}

// Exec waits for the end of its context if the command is "wait".
func (f *fake) Exec(ctx context.Context, id ID, c runner.Command) (runner.Exit, error) {
	switch c.Args[0] {
	case "wait":
		if err := os.WriteFile(filepath.Join(f.env.Scope.Worktree, "waiting"), nil, 0o600); err != nil {
			return runner.Exit{}, err
		}
		<-ctx.Done()
		return runner.Exit{Code: 7}, context.Cause(ctx)
	case "panic":
		panic("as told")
	}
	return runner.Exit{Code: int(id)}, nil
}

func (f *fake) Collect(_ context.Context, _ ID, _ runner.Pick, w io.Writer) ([]runner.Skipped, error) {
	if f.told("no-tar") {
		_, err := w.Write([]byte("this is no tar stream, however long it goes on and on"))
		return nil, err
	}
	return nil, errors.New("the fake has no files")
}

func (f *fake) Clear(context.Context, ID, runner.Pick) error { return nil }

func (f *fake) Remove(_ context.Context, ids []ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if _, err := os.Stat(filepath.Join(f.env.Scope.Worktree, fmt.Sprint("held-", id))); err == nil || f.told(fmt.Sprint("stuck-", id)) {
			return fmt.Errorf("sandbox %d is stuck", id)
		}
		delete(f.alive, id)
	}
	return nil
}

func (f *fake) Alive(id ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told(fmt.Sprint("dead-", id)) {
		f.alive[id] = false
	}
	return f.alive[id]
}

func (f *fake) Usage(id ID) (runner.Usage, error) {
	return runner.Usage{Memory: 100 + int64(id), Shared: 50, Disk: 200}, nil
}

func (f *fake) Close(ctx context.Context) error {
	if f.told("hang") {
		select {}
	}
	return nil
}

func (f *fake) Freeze(ctx context.Context, _ runner.Worktree) (Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told("no-freeze") {
		return nil, errors.New("no image today")
	}
	f.images++
	return f.images, nil
}

func (f *fake) Fork(ctx context.Context, image Image, id ID, _ runner.Child) error {
	if f.told("slow") {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := f.together(ctx); err != nil {
		return err
	}
	if f.told("no-fork") {
		return errors.New("no child today")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alive[id] = true
	return nil
}

// together waits until another fork is under way, if the test asked for that.
func (f *fake) together(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(f.env.Scope.Worktree, "together")); err != nil {
		return nil
	}
	f.mu.Lock()
	if f.second == nil {
		f.second = make(chan struct{})
	} else {
		close(f.second)
	}
	second := f.second
	f.mu.Unlock()
	select {
	case <-second:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *fake) Release(context.Context, Image) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images--
	return nil
}
