package smolvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
)

// A pack of this backend's holds one file, smolvm's own pack of the machine: its whole disk, whose image is in it.

// packFolder is the pattern of the folders below a scope's in which smolvm's packs lie for a while.
const packFolder = "pack-"

// stopped is the refusal of a sandbox that does not run any more because it was packed, or was about to be.
func stopped() *runner.Error {
	return &runner.Error{Reason: "this sandbox was stopped to be saved as a pack", Cause: runner.Gone, Fix: "boxer down"}
}

// Halt stops the machine, as runner.Halter says.
func (s *Session) Halt(ctx context.Context) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	unlock, f, err := s.toPack(ctx)
	if err != nil {
		return s.at(err)
	}
	defer unlock()
	before := phase("")
	err = s.book.update(func(k *bookData) error {
		if err := s.childless(k, f.dead); err != nil { // one may have begun just now
			return err
		}
		before, k.Phase = k.Phase, halted
		return nil
	})
	if err != nil || !f.machine.lives() {
		return s.at(err)
	}
	// The notes have the environment of commands, which is no business of a pack's reader: /tmp should not outlive the
	// machine, and does not have to be trusted to.
	_, _, err = s.guests.ask(ctx, s.key(), `rm -rf `+guestDir+`; sync`)
	s.guests.forget(s.key())
	if err == nil { // cut off, it would leave nobody knows what
		_, err = s.guests.program.do(context.WithoutCancel(ctx), "machine", "stop", "--name", s.key())
	}
	if err != nil {
		return s.at(errors.Join(err, s.book.update(func(k *bookData) error { k.Phase = before; return nil })))
	}
	return context.Cause(ctx)
}

// family is what smolvm tells of a sandbox that is to be packed.
type family struct {
	machine machine
	dead    map[string]bool // those of its children that do not live
}

// toPack waits for the sandbox to be prepared, takes the scope's lock and refuses what cannot be packed.
func (s *Session) toPack(ctx context.Context) (unlock func(), f family, err error) {
	_, err = s.find(ctx, "")
	k, readErr := s.book.read()
	if readErr != nil {
		return nil, f, readErr
	}
	if err != nil && k.Phase != halted {
		return nil, f, err
	}
	if k.Spec.Worktree == runner.Private {
		return nil, f, &runner.Error{
			Reason: "this sandbox has a copy of the worktree on its disk, by the path it has on this host, so on smolvm it cannot be packed: one that up starts has none",
			Cause:  runner.Unsupported, Fix: "boxer down && boxer up",
		}
	}
	unlock, err = s.backend.store().LockWithin(ctx, s.key())
	if err != nil {
		return nil, f, err
	}
	if f, err = s.family(ctx); err != nil {
		unlock()
		return nil, f, err
	}
	return unlock, f, nil
}

// family asks smolvm about the sandbox and those children that were there before it was asked.
func (s *Session) family(ctx context.Context) (family, error) {
	f := family{dead: map[string]bool{}}
	k, err := s.book.read()
	if err != nil {
		return f, err
	}
	all, err := s.guests.program.list(ctx)
	if err != nil {
		return f, err
	}
	lives := map[string]bool{}
	for _, m := range all {
		lives[m.Name] = m.lives()
		if m.Name == s.key() {
			f.machine = m
		}
	}
	if f.machine.Name == "" {
		return f, runner.Died("boxer down")
	}
	for i, c := range k.Children {
		if key := s.record.Scope.Child(i).Key; c.Ready && !lives[key] {
			f.dead[key] = true
		}
	}
	return f, s.childless(k, f.dead)
}

// childless refuses a sandbox with children, less those that are known to be dead.
func (s *Session) childless(k *bookData, dead map[string]bool) error {
	var names []string
	for _, i := range indexes(k) {
		if c := s.record.Scope.Child(i); !dead[c.Key] {
			names = append(names, c.Slug)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &runner.Error{
		Reason: "a machine is packed stopped, and children of this one run: " + strings.Join(names, ", "), Cause: runner.IsBusy, Fix: "boxer fork rm --all",
	}
}

// Pack lets smolvm pack the machine, and hands the file on. The machine must not run: Halt sees to that.
func (s *Session) Pack(ctx context.Context, w io.Writer) (runner.Packed, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return runner.Packed{}, err
	}
	defer end()
	unlock, f, err := s.toPack(ctx)
	if err != nil {
		return runner.Packed{}, s.at(err)
	}
	defer unlock()
	if f.machine.lives() {
		return runner.Packed{}, (&runner.Error{
			Reason: "this sandbox runs, and smolvm packs only a machine that is stopped. Stopping it ends what runs in it, and it cannot be forked any more",
			Cause:  runner.MustBeStopped, Fix: "smolvm machine stop --name " + s.key(),
		}).At(s.record.Scope)
	}
	if err := s.reaper.start(s); err != nil { // it ends smolvm, should this process die
		return runner.Packed{}, err
	}
	packed, err := s.packMachine(ctx, w)
	return packed, s.at(err)
}

func (s *Session) packMachine(ctx context.Context, w io.Writer) (runner.Packed, error) {
	dir, err := s.packFolder()
	if err != nil {
		return runner.Packed{}, err
	}
	defer os.RemoveAll(dir)
	stub := filepath.Join(dir, "machine") // smolvm writes in place, and this program as well, which nobody needs
	ended := func() {}
	begun := func(pid int) {
		if maker, err := identify(pid); err == nil {
			ended = s.watch(running{"pack", s.key(), maker})
		}
	}
	_, err = s.guests.program.doing(ctx, begun, "pack", "create", "--from-vm", s.key(), "-o", stub)
	ended()
	if err != nil {
		return runner.Packed{}, err
	}
	f, err := os.Open(stub + ".smolmachine")
	if err != nil {
		return runner.Packed{}, (&runner.Error{
			Reason: "smolvm pack create said that all went well and wrote no pack", Cause: runner.BackendFailed, Fix: "smolvm --version",
		}).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return runner.Packed{}, err
	}
	k, err := s.book.read()
	if err != nil {
		return runner.Packed{}, err
	}
	spec := k.Spec
	spec.Env = nil
	return runner.Packed{Spec: spec, Root: runner.PackCount{Entries: 1, Bytes: info.Size()}}, pack.WriteMachine(ctx, w, f, info.Size())
}

// packFolder makes a folder for smolvm's pack, and removes what a killed boxer left of earlier ones: the caller holds
// the scope's lock, or has only just made the scope's folder.
func (s *Session) packFolder() (string, error) {
	old, _ := filepath.Glob(filepath.Join(s.record.Dir, packFolder+"*"))
	for _, dir := range old {
		os.RemoveAll(dir) //nolint:errcheck // down removes what lies there
	}
	return os.MkdirTemp(s.record.Dir, packFolder)
}

// StartPacked starts the scope's sandbox from a packed machine.
func (b *Backend) StartPacked(ctx context.Context, scope runner.Scope, spec runner.Spec, from runner.PackStream, progress func(runner.Step)) (runner.Session, error) {
	if progress == nil {
		progress = func(runner.Step) {}
	}
	if spec.Worktree == runner.Private {
		return nil, (&runner.Error{Reason: "it has a private worktree, and no pack of smolvm's has one", Cause: runner.PackUnfit}).At(scope)
	}
	s, err := b.reach(ctx, scope, spec)
	if err != nil {
		return nil, atScope(err, scope)
	}
	if !s.started {
		running := &runner.Error{
			Reason: "a sandbox runs here already, and a pack is what a new one starts from", Cause: runner.AlreadyRunning, Fix: "boxer down",
		}
		return nil, errors.Join(running.At(scope), s.Close())
	}
	if err := s.preparePacked(ctx, spec, from.From, progress); err != nil {
		return nil, errors.Join(s.at(err), s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// preparePacked is prepare from a pack: what it holds was prepared once, and is not prepared again.
func (s *Session) preparePacked(ctx context.Context, spec runner.Spec, from io.Reader, progress func(runner.Step)) error {
	began := time.Now()
	err := s.bootPacked(ctx, spec, from)
	progress(runner.Step{Kind: "boot", Took: time.Since(began), Err: err})
	if err != nil {
		return err
	}
	return s.bring(ctx, spec.Prepared(), progress)
}

func (s *Session) bootPacked(ctx context.Context, spec runner.Spec, from io.Reader) error {
	if err := s.guests.program.versionFits(ctx); err != nil {
		return err
	}
	dir, err := s.packFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "machine.smolmachine")
	if err := layDown(ctx, from, path); err != nil {
		return err
	}
	args, err := s.creation(spec, path)
	if err != nil {
		return err
	}
	if err := s.create(ctx, args); err != nil { // it takes all out of the file
		return err
	}
	return s.powerOn(ctx)
}

// layDown writes the machine of a pack to a file.
func layDown(ctx context.Context, from io.Reader, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(pack.ReadMachine(ctx, from, f), f.Close())
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return (&runner.Error{
			Reason: fmt.Sprintf("the disk of %s has no room for the machine in the pack", filepath.Dir(path)), Cause: runner.NoSpace,
			Fix: "df -h " + filepath.Dir(path),
		}).Because(err)
	}
	return err
}
