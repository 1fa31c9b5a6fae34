package smolvm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// source is the parent as children are branched from it. smolvm captures a plain branch when it runs, so a child
// starts from the parent's state of that moment, not of Freeze's.
type source struct {
	s       *Session
	options runner.ForkOptions
	spec    runner.Spec
	host    identity
	have    []runner.Child

	mu      sync.Mutex
	over    bool
	release func() // of the count of lasting children
}

// Freeze looks whether the parent can be branched as it runs, and brings its private worktree up to date.
func (s *Session) Freeze(ctx context.Context, o runner.ForkOptions) (runner.Source, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := s.find(ctx, ""); err != nil {
		return nil, err
	}
	if o.Worktree == "" {
		o.Worktree = runner.Live
	}
	k, err := s.book.read()
	if err != nil {
		return nil, s.at(err)
	}
	if err := s.fits(ctx, k, o); err != nil {
		return nil, err
	}
	src := &source{s: s, options: o, spec: k.Spec, host: k.Host, have: []runner.Child{}, release: func() {}}
	if o.Lasting && o.Want > 0 {
		leave, err := turn(ctx, s.want())
		if err != nil {
			return nil, err
		}
		src.release = sync.OnceFunc(leave)
		s.mu.Lock()
		s.wants[src] = src.release
		s.mu.Unlock()
	}
	if o.Lasting {
		if err := src.count(ctx); err != nil {
			return nil, errors.Join(s.at(err), src.Release(ctx))
		}
	}
	if o.Worktree == runner.Private {
		if err := s.refresh(ctx, k.Spec); err != nil {
			return nil, errors.Join(s.at(err), src.Release(ctx))
		}
	}
	return src, nil
}

// fits refuses what cannot be forked.
func (s *Session) fits(ctx context.Context, k *bookData, o runner.ForkOptions) error {
	if o.Worktree == runner.Private && k.Spec.Worktree != runner.Private {
		return (&runner.Error{
			Reason: "this sandbox has the real worktree, and on smolvm its children have what it has: none can have a copy of its own, unless shard starts the sandbox (or is told --worktree shared)",
			Cause:  LiveWorktree, Fix: "boxer down",
		}).At(s.record.Scope)
	}
	ok, err := s.branchable(ctx)
	if err != nil || ok {
		return err
	}
	return (&runner.Error{
		Reason: "this sandbox was not started as a branch source, so it cannot be forked. Preparing restarts it, which ends whatever is running in it",
		Cause:  runner.NotForkable, Fix: "boxer fork --prepare",
	}).At(s.record.Scope)
}

// count finds the lasting children that live.
func (src *source) count(ctx context.Context) error {
	k, err := src.s.book.read()
	if err != nil {
		return err
	}
	machines, err := src.s.guests.program.list(ctx)
	if err != nil {
		return err
	}
	lives := map[string]bool{}
	for _, m := range machines {
		lives[m.Name] = m.lives()
	}
	for _, i := range indexes(k) {
		c, name := k.Children[i], src.s.record.Scope.Child(i)
		if c.Lasting && c.Ready && c.Remover.PID == 0 && lives[name.Key] {
			src.have = append(src.have, name)
		}
	}
	return nil
}

// Have returns the lasting children that exist.
func (src *source) Have() []runner.Child { return src.have }

// Release frees the count. Children live on.
func (src *source) Release(context.Context) error {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.over = true
	src.release()
	src.s.mu.Lock()
	delete(src.s.wants, src)
	src.s.mu.Unlock()
	return nil
}

var errReleased = errors.New("the source of children was released")

// Fork makes one child and looks whether it is whole; one that is not is removed and made once more.
func (src *source) Fork(ctx context.Context) (runner.Child, error) {
	ctx, end, err := src.s.begin(ctx)
	if err != nil {
		return runner.Child{}, err
	}
	defer end()
	src.mu.Lock()
	over := src.over
	src.mu.Unlock()
	if over {
		return runner.Child{}, errReleased
	}
	if err := src.s.reaper.start(src.s); err != nil {
		return runner.Child{}, err
	}
	child, err := src.make(ctx)
	if err != nil && ctx.Err() == nil && runner.CauseOf(err) == "" {
		child, err = src.make(ctx)
	}
	return child, src.s.at(err)
}

// make makes a child and enters it in the book, or leaves nothing of it. Its name stands there before it is made.
func (src *source) make(ctx context.Context) (runner.Child, error) {
	s := src.s
	index, number, err := src.name()
	if err != nil {
		return runner.Child{}, err
	}
	c := s.record.Scope.Child(index)
	err = src.branch(ctx, c)
	if err == nil {
		err = src.probe(ctx, c)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // nobody will ever hear of it
	}
	if err == nil {
		err = s.book.update(func(k *bookData) error {
			now := k.Children[index]
			if now == nil || now.Number != number || now.Abort || k.Closing {
				return gone(c.Slug + " was removed while it was made").At(s.record.Scope)
			}
			now.Ready = true
			if src.options.Lasting {
				k.Lasting = true // its parent must last too
			}
			return nil
		})
	}
	if err == nil {
		return c, nil
	}
	return runner.Child{}, errors.Join(err, s.removeMine(ctx, []removal{{index, number}}))
}

// name takes the smallest free name.
func (src *source) name() (index, number int, err error) {
	s := src.s
	err = s.book.update(func(k *bookData) error {
		if k.Closing {
			return gone("the sandbox is being taken down").At(s.record.Scope)
		}
		if k.Phase == halted {
			return stopped().At(s.record.Scope)
		}
		for index = 1; k.Children[index] != nil; index++ {
		}
		k.Last++
		number = k.Last
		k.Children[index] = &child{
			Number: number, Lease: s.id, Lasting: src.options.Lasting, Created: time.Now(), Worktree: src.options.Worktree,
		}
		return nil
	})
	return index, number, err
}

// branch lets smolvm make the machine. It makes one of a source at a time anyway.
func (src *source) branch(ctx context.Context, c runner.Child) error {
	s := src.s
	select {
	case s.branching <- struct{}{}:
		defer func() { <-s.branching }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	args := []string{"machine", "branch", "--from", s.key(), "--name", c.Key}
	begun := func(pid int) {
		maker, err := identify(pid)
		if err != nil {
			return // it has ended, and nobody needs to wait for it
		}
		s.book.update(func(k *bookData) error { //nolint:errcheck // its failure shows when the child is entered
			if now := k.Children[c.Index]; now != nil {
				now.Maker = maker
			}
			return nil
		})
	}
	_, err := s.guests.program.doing(ctx, begun, args...)
	if runner.CauseOf(err) == NameTaken {
		err = src.again(ctx, c, err, args, begun)
	}
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Cause == runner.Gone && errors.Is(err, errNoMachine) {
		return runner.Died("boxer down").At(s.record.Scope).Because(err)
	}
	if err == nil {
		s.guests.forget(c.Key)
		s.guests.inherit(s.key(), c.Key)
	}
	return err
}

// again is for a name that smolvm knows and the book does not: what a crash left, if it carries our marks.
func (src *source) again(ctx context.Context, c runner.Child, taken error, args []string, begun func(int)) error {
	s := src.s
	m, ok, err := s.guests.program.find(ctx, c.Key)
	if err != nil || !ok || !m.is(s.key(), s.backend.stateID()) {
		if e, known := errors.AsType[*runner.Error](taken); known {
			e.Fix = "smolvm machine delete --name " + c.Key + " --force"
		}
		return errors.Join(taken, err)
	}
	if err := s.guests.program.remove(ctx, c.Key); err != nil {
		return err
	}
	_, err = s.guests.program.doing(ctx, begun, args...)
	return err
}

const (
	probeTime = 60 * time.Second
	// clockSlack is how far a child's clock may be from the host's right after the fork.
	clockSlack = 2 * time.Second
)

// probeScript renews what a child must not share with its parent, where smolvm has not, and tells what it is like.
// Its arguments are the parent's names, the child's own, the right time and the worktree.
const probeScript = `if [ "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)" = "$1" ]; then
	hostname "$3" 2>/dev/null || echo "$3" 2>/dev/null >/proc/sys/kernel/hostname
fi
if [ "$2" ] && [ "$(cat /etc/machine-id 2>/dev/null)" = "$2" ]; then
	echo "$4" 2>/dev/null >/etc/machine-id
fi
t=$(date +%s)
if [ $((t - $5)) -gt 2 ] || [ $(($5 - t)) -gt 2 ]; then
	date -s "@$5" >/dev/null 2>&1
fi
cd "$6" || exit 3
date +%s
`

// probe tries what must be true of a child: a command runs, the clock is right, the worktree is there, the services
// answer.
func (src *source) probe(ctx context.Context, c runner.Child) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	s := src.s
	before := time.Now()
	out, code, err := s.guests.ask(ctx, c.Key, probeScript,
		src.host.Hostname, src.host.MachineID, c.Slug, newMachineID(), strconv.FormatInt(before.Unix(), 10), s.record.Scope.Worktree)
	if err != nil {
		return fmt.Errorf("probe %s: %w", c.Slug, err)
	}
	if code != 0 {
		return fmt.Errorf("probe %s: the worktree cannot be entered (exit code %d)", c.Slug, code)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return fmt.Errorf("probe %s: it tells no time: %q", c.Slug, out)
	}
	clock := time.Unix(seconds, 0)
	if clock.Before(before.Add(-clockSlack-time.Second)) || clock.After(time.Now().Add(clockSlack)) {
		return fmt.Errorf("probe %s: its clock says %s", c.Slug, clock.Format(time.RFC3339))
	}
	return runner.Ready(ctx, inside{s, c.Key}, src.spec)
}

// inside runs readiness lines in a child that nobody else knows yet.
type inside struct {
	s       *Session
	machine string
}

func (i inside) Exec(ctx context.Context, c runner.Command) (runner.Exit, error) {
	if c.Dir == "" {
		c.Dir = i.s.record.Scope.Worktree
	}
	return i.s.guests.exec(ctx, i.machine, c)
}

func (s *Session) identityOf(ctx context.Context, machine string) (identity, error) {
	out, _, err := s.guests.ask(ctx, machine, `hostname 2>/dev/null || cat /proc/sys/kernel/hostname; echo; cat /etc/machine-id 2>/dev/null; echo`)
	if err != nil {
		return identity{}, err
	}
	name, rest, _ := strings.Cut(out, "\n")
	return identity{strings.TrimSpace(name), strings.TrimSpace(rest)}, nil
}

// newMachineID is 32 random hex digits.
// https://www.freedesktop.org/software/systemd/man/latest/machine-id.html
func newMachineID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}

// watch tells the reaper of a command under way, if there is one.
func (s *Session) watch(r running) (ended func()) {
	s.reaper.tell(notice{Running: &r})
	return func() { s.reaper.tell(notice{Ended: r.ID}) }
}
