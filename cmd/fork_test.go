package cmd

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// sourceOf fails every fork from the nth on.
type sourceOf struct {
	mu   sync.Mutex
	made int
	fail int
}

func (s *sourceOf) Have() []runner.Child          { return nil }
func (s *sourceOf) Release(context.Context) error { return nil }

func (s *sourceOf) Fork(context.Context) (runner.Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 && s.made+1 >= s.fail {
		return runner.Child{}, &runner.Error{Reason: "no memory", Cause: runner.NoMemory}
	}
	s.made++
	return runner.Child{Index: s.made}, nil
}

func TestForkMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		n, fail   int
		made      int
		wantError string
	}{
		{"all", 20, 0, 20, ""},
		{"none to make", 0, 0, 0, ""},
		{"fewer than there are", -2, 0, 0, ""},
		{"some fail", 5, 4, 3, "2 of 5 children could not be made: no memory"},
		{"the only one fails", 1, 1, 0, "no memory"},
	} {
		made, err := forkMissing(t.Context(), &sourceOf{fail: c.fail}, c.n)
		if len(made) != c.made {
			t.Errorf("%s: made %d", c.name, len(made))
		}
		if (err == nil) != (c.wantError == "") || (err != nil && err.Error() != c.wantError) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && runner.CauseOf(err) != runner.NoMemory {
			t.Errorf("%s: cause %s", c.name, runner.CauseOf(err))
		}
	}
}

func TestForkMissingStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	made, err := forkMissing(ctx, &sourceOf{}, 3)
	if len(made) != 0 || !errors.Is(err, why) {
		t.Errorf("made %d, %v", len(made), err)
	}
}

func TestChosenChildren(t *testing.T) {
	t.Parallel()
	list := []runner.Sandbox{
		{Key: "k", Slug: "s", Lasting: true},
		{Key: "k-f1", Slug: "s-f1", Parent: "k", Lasting: true},
		{Key: "k-f2", Slug: "s-f2", Parent: "k"}, // of a run that is under way
		{Key: "k-f10", Slug: "s-f10", Parent: "k", Lasting: true},
	}
	for _, c := range []struct {
		names, want []string
	}{
		{nil, []string{"s-f1", "s-f10"}},
		{[]string{"s-f1"}, []string{"s-f1"}},
		{[]string{"k-f10"}, []string{"s-f10"}},
		{[]string{"s-f2"}, []string{"s-f2"}},
		{[]string{"s-f3"}, nil},
		{[]string{"s"}, nil},
	} {
		if got := chosen(doomed{names: c.names}, list); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.names, got, c.want)
		}
	}
}
