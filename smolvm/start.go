package smolvm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Start attaches to the scope's sandbox, or starts one from the spec.
func (b *Backend) Start(ctx context.Context, scope runner.Scope, spec runner.Spec, progress func(runner.Step)) (runner.Session, error) {
	s, err := b.start(ctx, scope, spec, progress)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *Backend) start(ctx context.Context, scope runner.Scope, spec runner.Spec, progress func(runner.Step)) (*Session, error) {
	const tries = 5
	if progress == nil {
		progress = func(runner.Step) {}
	}
	for try := 1; ; try++ {
		s, err := b.reach(ctx, scope, spec)
		if err != nil {
			return nil, atScope(err, scope)
		}
		if s.started {
			if err := s.prepare(ctx, spec, progress); err != nil {
				return nil, errors.Join(s.at(err), s.Down(context.WithoutCancel(ctx)))
			}
			return s, nil
		}
		_, err = s.find(ctx, "")
		if err == nil {
			return s, nil
		}
		// It was another's, who failed to prepare it. Ours comes after it.
		err = errors.Join(s.at(err), s.Close())
		if runner.CauseOf(err) != runner.Gone || try == tries {
			return nil, err
		}
	}
}

func atScope(err error, scope runner.Scope) error {
	if e, ok := errors.AsType[*runner.Error](err); ok {
		e.At(scope)
	}
	return err
}

// reach enters a lease into the book of the scope's sandbox, or writes a new one: then the sandbox is the session's to
// prepare.
func (b *Backend) reach(ctx context.Context, scope runner.Scope, spec runner.Spec) (*Session, error) {
	if err := b.dirs.Make(); err != nil {
		return nil, err
	}
	unlock, err := b.store().LockWithin(ctx, scope.Key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := b.store().Get(scope.Key)
	if err == nil {
		if s, err := b.join(ctx, r, spec); s != nil || err != nil {
			return s, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return b.open(ctx, scope, spec)
}

// errLeft lies beneath the error for a book that nobody owns any more.
var errLeft = errors.New("nobody owns the sandbox any more")

// join enters a lease. What a crash left is removed, and then there is no session.
func (b *Backend) join(ctx context.Context, r runner.Record, spec runner.Spec) (*Session, error) {
	if r.Backend != Kind {
		return nil, (&runner.Error{
			Reason: fmt.Sprintf("the sandbox of this scope was started with the %s backend, not with %s", r.Backend, Kind),
			Cause:  runner.ConfigChanged, Fix: "boxer down",
		})
	}
	s, err := b.session(r)
	if err != nil {
		return nil, err
	}
	err = s.book.update(func(k *bookData) error {
		switch {
		case k.Closing, !k.Lasting && !k.held(), k.Phase == preparing && !k.Leases[k.Preparer].live():
			return errLeft
		case k.Spec.Hash() != spec.Hash():
			return &runner.Error{
				Reason: "the configuration asks for another sandbox than the one that runs: its services, setup, machine or folder have changed since it was started",
				Cause:  runner.ConfigChanged, Fix: "boxer down",
			}
		}
		return s.enter(k)
	})
	if errors.Is(err, errLeft) || runner.CauseOf(err) == runner.Gone {
		return nil, b.takeDown(ctx, r)
	}
	return s, err
}

// open writes the record and the book of a sandbox that does not exist yet, and starts the reaper: what is made from
// here on is found, whatever happens.
func (b *Backend) open(ctx context.Context, scope runner.Scope, spec runner.Spec) (*Session, error) {
	self, err := identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	r := runner.Record{
		Scope: scope, Backend: Kind, Owner: self, Created: time.Now(),
		Dir: filepath.Join(b.dirs.Temp, scope.Key+folderMark+strings.ToLower(rand.Text()[:6])),
	}
	s, err := b.session(r)
	if err != nil {
		return nil, err
	}
	s.started = true
	k := &bookData{Spec: spec, Phase: preparing, Preparer: s.id, Leases: map[string]*lease{}, Children: map[int]*child{}}
	if err := s.enter(k); err != nil {
		return nil, err
	}
	err = b.store().Put(r)
	if err == nil {
		err = s.book.create(k)
	}
	if err == nil {
		err = s.reaper.start(s)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.Dir), b.store().Delete(scope.Key))
	}
	return s, nil
}

// prepare makes the parent and brings it to the spec.
func (s *Session) prepare(ctx context.Context, spec runner.Spec, progress func(runner.Step)) error {
	step := func(kind, name string, do func() error) error {
		began := time.Now()
		err := do()
		progress(runner.Step{Kind: kind, Name: name, Took: time.Since(began), Err: err})
		return err
	}
	if err := step("boot", "", func() error { return s.boot(ctx, spec) }); err != nil {
		return err
	}
	if err := s.installations(ctx, spec, step); err != nil {
		return err
	}
	return s.bring(ctx, spec, progress)
}

// bring does what has to be done once per boot, and then lets everybody use the parent.
func (s *Session) bring(ctx context.Context, spec runner.Spec, progress func(runner.Step)) error {
	if err := runner.Prepare(ctx, parent{s}, spec, progress); err != nil {
		return err
	}
	host, err := s.identityOf(ctx, s.key())
	if err != nil {
		return err
	}
	return s.book.update(func(k *bookData) error {
		k.Phase, k.Host = prepared, host
		return nil
	})
}

// boot creates the machine, starts it as a branch source and waits until it runs commands.
func (s *Session) boot(ctx context.Context, spec runner.Spec) error {
	if err := s.guests.program.versionFits(ctx); err != nil {
		return err
	}
	args, err := s.creation(spec, "")
	if err != nil {
		return err
	}
	if err := s.create(ctx, args); err != nil {
		return err
	}
	if err := s.powerOn(ctx); err != nil {
		return err
	}
	if spec.Worktree == runner.Private {
		return s.refresh(ctx, spec)
	}
	return nil
}

// idle keeps a machine alive whose image would end by itself, as those of interpreters do.
const idle = "while :; do sleep 3600; done"

// asideDir is where a machine with a private copy of the worktree sees the real one.
const asideDir = "/mnt/boxer/worktree"

// creation is the call that creates the parent, from a packed machine if there is one.
func (s *Session) creation(spec runner.Spec, packed string) ([]string, error) {
	scope := s.record.Scope
	args := []string{"machine", "create", "--name", scope.Key}
	for _, l := range [][2]string{
		{labelScope, scope.Key}, {labelState, s.backend.stateID()}, {labelWorktree, scope.Worktree}, {labelSpec, spec.Hash()},
	} {
		args = append(args, "--label", l[0]+"="+l[1])
	}
	mounts := []string{scope.Worktree + ":" + scope.Worktree}
	if spec.Worktree == runner.Private {
		mounts[0] = scope.Worktree + ":" + asideDir + ":ro"
	}
	common, err := commonGitDir(scope.Worktree)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(scope.Worktree, common); common != "" && (err != nil || !filepath.IsLocal(rel)) {
		mounts = append(mounts, common+":"+common+":ro")
	}
	for _, m := range mounts {
		if folder, _, _ := strings.Cut(m, ":/"); strings.Contains(folder, ":") {
			return nil, &runner.Error{
				Reason: "smolvm cannot mount a folder with a colon in its path", Cause: BadMount, Fix: "cp -a . ~/project # and run boxer there",
			}
		}
		args = append(args, "-v", m)
	}
	m := spec.Machine
	if packed != "" {
		args = append(args, "--from", packed) // and the image that was named is in there
	} else if m.Image != "" {
		args = append(args, "--image", m.Image)
	}
	if m.CPUs > 0 {
		args = append(args, "--cpus", strconv.Itoa(m.CPUs))
	}
	if m.Memory > 0 {
		args = append(args, "--mem", strconv.Itoa(m.Memory))
	}
	if m.Network {
		args = append(args, "--net")
	}
	return append(args, "--", "sh", "-c", idle), nil
}

// create creates the parent. A machine of the name that is this boxer's, though no record tells of it, is what a crash
// left; anybody else's is left alone.
func (s *Session) create(ctx context.Context, args []string) error {
	made := func(err error) error {
		if err != nil {
			return err
		}
		return s.book.update(func(k *bookData) error { k.Made = true; return nil })
	}
	_, err := s.guests.program.do(ctx, args...)
	if runner.CauseOf(err) != NameTaken {
		return made(err)
	}
	m, ok, findErr := s.guests.program.find(ctx, s.key())
	if findErr != nil || !ok || !m.is(s.key(), s.backend.stateID()) {
		return errors.Join(err, findErr)
	}
	if err := s.guests.program.removeFamily(ctx, s.key(), s.backend.stateID(), false); err != nil {
		return err
	}
	_, err = s.guests.program.do(ctx, args...)
	return made(err)
}

// powerOn starts the parent as a branch source and notes which boot of it is one.
func (s *Session) powerOn(ctx context.Context) error {
	out, err := s.guests.program.do(ctx, "machine", "start", "--name", s.key(), "--branchable")
	if err != nil {
		return err
	}
	if strings.Contains(out, "already running") { // then smolvm has ignored --branchable
		return &runner.Error{
			Reason: "somebody started the machine " + s.key() + " just now, so it is no branch source", Cause: runner.NotForkable,
			Fix: "boxer fork --prepare",
		}
	}
	boot, err := s.bootOf(ctx)
	if err != nil {
		return err
	}
	if err := s.book.update(func(k *bookData) error { k.Boot = boot; return nil }); err != nil {
		return err
	}
	return s.awake(ctx, s.key())
}

// bootOf names the process that the parent runs in: another one is another boot.
func (s *Session) bootOf(ctx context.Context) (runner.Process, error) {
	m, ok, err := s.guests.program.find(ctx, s.key())
	if err != nil {
		return runner.Process{}, err
	}
	if !ok || !m.lives() {
		return runner.Process{}, runner.Died("boxer down").At(s.record.Scope)
	}
	boot, err := identify(*m.PID)
	if err != nil {
		return boot, runner.Died("boxer down").At(s.record.Scope).Because(err)
	}
	return boot, nil
}

const awakeTime = 30 * time.Second

// awake waits until a machine runs commands.
func (s *Session) awake(ctx context.Context, machine string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, awakeTime, &runner.Error{
		Reason: fmt.Sprintf("the machine %s runs no command %s after its start", machine, awakeTime), Cause: SlowStart, Fix: "boxer doctor",
	})
	defer cancel()
	var last error
	for {
		out, _, err := s.guests.ask(ctx, machine, "echo awake")
		if strings.TrimSpace(out) == "awake" {
			return nil
		}
		if err != nil {
			last = err
		}
		if err := wait(ctx, 5*poll); err != nil {
			if e, ok := errors.AsType[*runner.Error](err); ok && last != nil {
				return e.Because(last)
			}
			return err
		}
	}
}

// installations are the configuration's own lines for machines: what the host has is not in there.
func (s *Session) installations(ctx context.Context, spec runner.Spec, step func(kind, name string, do func() error) error) error {
	for _, line := range spec.Machine.Setup {
		err := step("setup", line, func() error {
			one := runner.Spec{Dir: spec.Dir, Env: spec.Env, Setup: []runner.SetupStep{{Run: line}}}
			err := runner.Prepare(ctx, parent{s}, one, nil)
			if e, ok := errors.AsType[*runner.Error](err); ok && !spec.Machine.Network {
				e.Output = append(e.Output, "(the machine has no network: smolvm.network is false)")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Forkable tells whether the sandbox can be forked as it runs. One that was restarted by somebody else cannot.
func (s *Session) Forkable(ctx context.Context) (bool, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	if _, err := s.find(ctx, ""); err != nil {
		return false, err
	}
	return s.branchable(ctx)
}

func (s *Session) branchable(ctx context.Context) (bool, error) {
	k, err := s.book.read()
	if err != nil {
		return false, s.at(err)
	}
	boot, err := s.bootOf(ctx)
	if runner.CauseOf(err) == runner.Gone {
		return false, nil
	}
	return err == nil && boot == k.Boot, s.at(err)
}

// Restart restarts the sandbox as a branch source, which ends whatever runs in it, and starts its services and its
// setup again. Its disk and its children stay.
func (s *Session) Restart(ctx context.Context, progress func(runner.Step)) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if progress == nil {
		progress = func(runner.Step) {}
	}
	unlock, err := s.backend.store().LockWithin(ctx, s.key())
	if err != nil {
		return err
	}
	defer unlock()
	var spec runner.Spec
	if err := s.book.update(func(k *bookData) error {
		spec, k.Phase, k.Preparer, k.Boot = k.Spec, preparing, s.id, runner.Process{}
		return nil
	}); err != nil {
		return s.at(err)
	}
	if err := s.reaper.start(s); err != nil {
		return err
	}
	began := time.Now()
	_, err = s.guests.program.do(ctx, "machine", "stop", "--name", s.key())
	s.guests.forget(s.key())
	if err == nil {
		err = s.powerOn(ctx)
	}
	progress(runner.Step{Kind: "boot", Took: time.Since(began), Err: err})
	if err == nil {
		err = s.bring(ctx, spec, progress)
	}
	if err != nil { // it is neither what it was nor what it should be, so nobody may take it for either
		return errors.Join(s.at(err), s.backend.takeDown(ctx, s.record))
	}
	return nil
}
