package keeper

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// Packer is an Engine that can hand out what the parent changed over the host, and start a parent from it.
type Packer interface {
	// Pack writes the changes as runner.Packer says. The Spec of what it returns is not its business.
	Pack(ctx context.Context, w io.Writer) (runner.Packed, error)
	// BootPacked is Boot with the changes in place.
	BootPacked(ctx context.Context, spec runner.Spec, from runner.PackStream) (runner.Machine, error)
}

// PackSession is a Session whose sandbox can be copied and packed.
type PackSession struct{ ForkSession }

// Pack hands out what the sandbox changed over the host.
func (p PackSession) Pack(ctx context.Context, w io.Writer) (runner.Packed, error) {
	r, stream, err := os.Pipe()
	if err != nil {
		return runner.Packed{}, err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(w, r)
		r.Close() // the keeper must not wait for a reader that has failed
		copied <- err
	}()
	var answer runner.Packed
	err = p.send(ctx, request{Op: opPack}, stream, &answer)
	if copyErr := <-copied; copyErr != nil && ctx.Err() == nil {
		return answer, copyErr // and err is only what came of it
	}
	return answer, err
}

// pack waits for a parent that is being prepared, as every use of one does.
func (s *server) pack(ctx context.Context, c call) (any, error) {
	w, done, err := c.pipe(ctx, "pack")
	if err != nil {
		return nil, err
	}
	defer done()
	packer, ok := s.engine.(Packer)
	if !ok {
		return nil, s.unsupported("cannot pack a sandbox")
	}
	if err := s.prep.wait(ctx); err != nil {
		return nil, at(err, s.set.Scope)
	}
	if !s.engine.Alive(Parent) {
		return nil, (&runner.Error{
			Reason: "the processes of this sandbox have ended, so it cannot be packed", Cause: runner.Gone, Fix: "boxer down",
		}).At(s.set.Scope)
	}
	packed, err := packer.Pack(ctx, w)
	packed.Spec = *s.prep.spec
	packed.Spec.Env = nil
	return packed, at(err, s.set.Scope)
}

// StartPacked starts a keeper and has its parent prepared from the pack. One that lives is refused.
func (c Config) StartPacked(ctx context.Context, scope runner.Scope, spec runner.Spec, from runner.PackStream, progress func(runner.Step)) (*Session, error) {
	s, err := c.reach(ctx, scope)
	if err != nil {
		return nil, at(err, scope)
	}
	if s.started {
		err = s.preparePacked(ctx, spec, from, progress)
	} else {
		err = alreadyRunning()
	}
	if err != nil {
		return nil, errors.Join(at(err, scope), s.Close())
	}
	return s, nil
}

func alreadyRunning() *runner.Error {
	return &runner.Error{
		Reason: "a sandbox runs here already, and a pack is what a new one starts from",
		Cause:  runner.AlreadyRunning, Fix: "boxer down",
	}
}

func (s *Session) preparePacked(ctx context.Context, spec runner.Spec, from runner.PackStream, progress func(runner.Step)) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(w, from.From)
		copied <- errors.Join(err, w.Close())
	}()
	a := s.preparation(spec, progress)
	a.files, a.Packed, a.LastPID = []*os.File{r}, from.Size, from.LastPID
	err = s.call(ctx, a, nil)
	r.Close() // what the keeper did not want is not waited for
	if copyErr := <-copied; copyErr != nil && !errors.Is(copyErr, syscall.EPIPE) && ctx.Err() == nil {
		return copyErr
	}
	return err
}

// bootPacked is boot from a pack: what it holds was prepared once, and is not prepared again.
func (s *server) bootPacked(ctx context.Context, c call, tell func(runner.Step)) error {
	r, done, err := c.pipe(ctx, "pack")
	if err != nil {
		return err
	}
	defer done()
	packer, ok := s.engine.(Packer)
	if !ok {
		return s.unsupported("cannot start a sandbox from a pack")
	}
	start := time.Now()
	m, err := packer.BootPacked(ctx, *c.Spec, runner.PackStream{From: r, Size: c.Packed, LastPID: c.LastPID})
	tell(runner.Step{Kind: "boot", Took: time.Since(start), Err: err})
	if err != nil {
		return err
	}
	return runner.Prepare(ctx, m, c.Spec.Prepared(), tell)
}
