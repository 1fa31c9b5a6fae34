package keeper

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/boxer-ci/boxer/runner/keeper/reap"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// program is argv[0] of a keeper and of its guard; argv[1] is the engine's kind, then the role and the keeper's folder.
const program = "boxer-keeper"

const (
	roleKeep    = "keep"    // enters its place by the rung, then keeps
	roleEntered = "entered" // is in its place already, with no capability left over from getting there
	roleGuard   = "guard"   // starts a keeper and kills what it leaves
)

const (
	starterFD = 3 // the starter's end of a socket: it gets the stages, and is the starter's lease
	guardFD   = 4 // the guard holds the other end of this pipe
)

// Main runs a keeper of the kind, or its guard, if that is what args ask for. It is called at the top of main and in
// a process of its own, with the descriptors that the starter left it.
func Main(args []string, kind string, newEngine func(Env) (Engine, error)) (code int, handled bool) {
	if len(args) != 4 || filepath.Base(args[0]) != program || args[1] != kind {
		return 0, false
	}
	if err := run(args[2], args[3], newEngine); err != nil {
		fmt.Fprintln(os.Stderr, "boxer-keeper:", err)
		return 1, true
	}
	return 0, true
}

func run(role, dir string, newEngine func(Env) (Engine, error)) error {
	// A terminal's signals are meant for who uses it. They are caught and not ignored, for what is started here would
	// ignore them too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	syscall.CloseOnExec(starterFD)
	syscall.CloseOnExec(guardFD) // may not be there
	set, err := readSetup(dir)
	if err != nil {
		return err
	}
	switch role {
	case roleGuard:
		return guard(set)
	case roleKeep:
		if err := enter(set); err != nil {
			return report(set, err)
		}
		return keep(set, newEngine)
	case roleEntered:
		return keep(set, newEngine)
	default:
		return fmt.Errorf("%q is no role", role)
	}
}

// report tells the starter that the rung does not hold.
func report(set setup, why error) error {
	starter, err := wire.FromFile(os.NewFile(starterFD, "starter"))
	if err != nil {
		return err
	}
	defer starter.Close()
	starter.Send(wire.KindStage, stage{Step: set.Rung.String(), Error: why.Error()})
	return why
}

// keep is a keeper's life, once it is in its place.
func keep(set setup, newEngine func(Env) (Engine, error)) error {
	starter, err := wire.FromFile(os.NewFile(starterFD, "starter"))
	if err != nil {
		return err
	}
	defer starter.Close()
	if set.Probe {
		return starter.Send(wire.KindStage, stage{Ready: true, Cleanup: cleanupOf(set.Rung)})
	}
	s, err := newServer(set, newEngine)
	if err != nil {
		starter.Reply(nil, err)
		return err
	}
	watch(s, set)
	return s.serve(starter)
}

// watch ends the keeper when somebody asks its process to, or when its guard is gone.
func watch(s *server, set setup) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		s.end(errGone("the sandbox was ended by a signal"))
	}()
	if !guarded(set.Rung) {
		return
	}
	go func() {
		os.NewFile(guardFD, "guard").Read(make([]byte, 1))
		s.end(errGone("the guard of the sandbox died"))
	}()
}

func environmentOf(set setup) Env {
	return Env{
		Scope: set.Scope, Dirs: set.Dirs, Dir: set.Dir, Exe: set.Exe, UID: set.UID, GID: set.GID,
		PID: set.Rung.pid(), Mount: set.Rung.mount(), User: set.Rung.user(), Cleanup: cleanupOf(set.Rung),
		Reaper: reap.New(),
	}
}

// sweep ends every process that came to be below this one, and takes what is on disk away.
func sweep(ctx context.Context, set setup) error {
	if err := killOffspring(ctx); err != nil {
		return err
	}
	if set.Rung.mount() {
		for _, dir := range []string{set.Dir, set.Dirs.Runtime} { // where an engine may have mounted
			if err := unmountBelow(dir); err != nil {
				return err
			}
		}
	}
	return set.remove()
}
