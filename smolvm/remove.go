package smolvm

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/boxer-ci/boxer/runner"
)

// Remove ends and removes children. One that is being made is not made.
func (s *Session) Remove(ctx context.Context, names ...string) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	var errs []error
	var meant []int
	for _, name := range names {
		index, ok := s.record.Scope.ChildIndex(name)
		if !ok {
			errs = append(errs, s.unknown(name))
			continue
		}
		meant = append(meant, index)
	}
	return errors.Join(append(errs, s.at(s.removeChildren(ctx, meant)))...)
}

// removal is one child that is to go.
type removal struct {
	index, number int
}

// removeChildren removes each, also when another is already at it, and frees their names afterwards.
func (s *Session) removeChildren(ctx context.Context, meant []int) error {
	var mine, others []removal
	err := s.book.update(func(k *bookData) error {
		mine, others = claim(k, meant, s.self)
		return nil
	})
	if runner.CauseOf(err) == runner.Gone {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.removeMine(ctx, mine)
	for _, o := range others {
		err = errors.Join(err, s.awaitRemoval(ctx, o))
	}
	return err
}

// claim marks children as being removed. Those that somebody alive makes or removes already are his to remove.
func claim(k *bookData, meant []int, who runner.Process) (mine, others []removal) {
	for _, i := range meant {
		c := k.Children[i]
		switch {
		case c == nil || slices.Contains(mine, removal{i, c.Number}):
		case c.Remover.PID != 0 && alive(c.Remover), !c.Ready && k.Leases[c.Lease].live():
			c.Abort = true
			others = append(others, removal{i, c.Number})
		default:
			c.Remover = who
			mine = append(mine, removal{i, c.Number})
		}
	}
	return mine, others
}

func (s *Session) removeMine(ctx context.Context, mine []removal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	errs := make([]error, len(mine))
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, m := range mine {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			name := s.record.Scope.Child(m.index).Key
			errs[i] = s.guests.program.remove(ctx, name)
			s.guests.forget(name)
			forgetErr := s.book.update(func(k *bookData) error {
				if c := k.Children[m.index]; c != nil && c.Number == m.number {
					if errs[i] == nil {
						delete(k.Children, m.index)
					} else {
						c.Remover = runner.Process{}
					}
				}
				return nil
			})
			if runner.CauseOf(forgetErr) != runner.Gone {
				errs[i] = errors.Join(errs[i], forgetErr)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// awaitRemoval waits until the child that somebody else removes is gone.
func (s *Session) awaitRemoval(ctx context.Context, r removal) error {
	for {
		k, err := s.book.read()
		if runner.CauseOf(err) == runner.Gone {
			return nil
		}
		if err != nil {
			return err
		}
		c := k.Children[r.index]
		if c == nil || c.Number != r.number {
			return nil
		}
		if !alive(c.Remover) && (c.Ready || !k.Leases[c.Lease].live()) {
			return s.removeChildren(ctx, []int{r.index}) // whoever was at it died, or failed
		}
		if err := wait(ctx, poll); err != nil {
			return err
		}
	}
}
