package keeper

import (
	"fmt"
	"os"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/keeper/wire"
)

// request is one call. Which fields are set depends on Op.
type request struct {
	Op      string
	Lease   string
	PID     int      // lease: who asks
	Name    string   // exec, collect, clear
	Names   []string // remove, keep
	Source  string   // fork, release
	Spec    *runner.Spec
	Command *command
	Pick    *runner.Pick
	Freeze  *runner.ForkOptions
	Usage   bool // list: with memory and disk
	Tidy    tidying
	Packed  int64 // prepare: length of the pack's stream to start from, which comes as a file; 0 is none
	LastPID int   // beside Packed
}

const (
	opLease   = "lease"   // the connection stays and is the lease
	opClose   = "close"   // on a lease's connection: give it up in order
	opPrepare = "prepare" // Spec; sends steps
	opExec    = "exec"    // Name, Command; files as Command says; takes signals
	opCollect = "collect" // Name, Pick; one file to write to
	opClear   = "clear"   // Name, Pick
	opFreeze  = "freeze"  // Freeze
	opShare   = "share"
	opFork    = "fork"    // Source
	opRelease = "release" // Source
	opList    = "list"    // Usage
	opRemove  = "remove"  // Names
	opKeep    = "keep"    // Names
	opTidy    = "tidy"    // Tidy; takes no lease
	opPack    = "pack"    // one file to write to
)

// command is runner.Command under way; its files come beside it.
type command struct {
	Args  []string
	Dir   string
	Env   []string
	User  string
	Grace time.Duration
	Files [3]bool // which of stdin, stdout, stderr came
}

func encodeCommand(c runner.Command) (*command, []*os.File) {
	w := &command{Args: c.Args, Dir: c.Dir, Env: c.Env, User: c.User, Grace: c.Grace}
	var files []*os.File
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f != nil {
			w.Files[i] = true
			files = append(files, f)
		}
	}
	return w, files
}

// decode takes the command's files out of the frame; closeFiles closes them.
func (w *command) decode(f *wire.Frame) (c runner.Command, closeFiles func(), err error) {
	c = runner.Command{Args: w.Args, Dir: w.Dir, Env: w.Env, User: w.User, Grace: w.Grace}
	var taken []*os.File
	closeFiles = func() {
		for _, f := range taken {
			f.Close()
		}
	}
	for i, to := range []**os.File{&c.Stdin, &c.Stdout, &c.Stderr} {
		if !w.Files[i] {
			continue
		}
		if *to, err = f.TakeFile([]string{"stdin", "stdout", "stderr"}[i]); err != nil {
			closeFiles()
			return c, nil, err
		}
		taken = append(taken, *to)
	}
	return c, closeFiles, nil
}

// step is runner.Step under way.
type step struct {
	Kind string
	Name string
	Took time.Duration
	Err  *wire.Error
}

type (
	leased struct {
		Lease   string
		Cleanup string
		PID     int
	}
	closed struct {
		Ends bool // the keeper ends with this lease
	}
	frozen struct {
		Source string
		Have   []runner.Child
	}
	collected struct {
		Skipped []runner.Skipped
	}
	tidying struct {
		Gone bool // the worktree is not there any more, as who asks sees it
		Dry  bool // only tell
	}
	tidied struct {
		Ends bool // the keeper ends, with all it has
		runner.Reclaimed
		Stuck []*wire.Error // one for each thing that could not be removed
	}
)

func hello() wire.Hello {
	return wire.Hello{Protocol: wire.Protocol, Version: runner.ThisBuild().Version}
}

func errGone(reason string) *runner.Error {
	return &runner.Error{Reason: reason, Cause: runner.Gone, Fix: "boxer ls"}
}

func otherVersion(theirs wire.Hello) *runner.Error {
	return &runner.Error{
		Reason: fmt.Sprintf("the sandbox was started by another boxer (%s, protocol %d; this is %s, protocol %d)",
			theirs.Version, theirs.Protocol, runner.ThisBuild().Version, wire.Protocol),
		Cause: runner.OtherVersion, Fix: "boxer down",
	}
}
