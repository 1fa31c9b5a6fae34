// Package cmd is boxer as people meet it: words in, words and exit codes out.
//
// It owns flags, the choice of the backend, everything that is printed and every exit code. It may talk to any
// backend, through the contract of package runner; it must never look into a sandbox or run anything by itself.
//
// The choice a reader would question: no command returns at its first fault. Cobra would stop at the first unknown
// flag, so unknown flags are taken out beforehand (faults.go), and every command goes through action, which hands it a
// list to put faults on and runs it only if the list stays empty.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// Process is what the operating system gives to a program.
type Process struct {
	In, Out, Err *os.File
	Env          []string
	Dir          string   // the working folder; "" asks the system
	Signals      *Signals // nil: none ever come
}

// deps is what every command has at hand. The pointer fields are filled while the command line is read.
type deps struct {
	Process
	ctx      context.Context
	backends []backend
	now      func() time.Time
	call     *call
}

// call is what this one command line says to all commands.
type call struct {
	dir     string              // -C
	file    string              // --config
	json    bool                // --json
	flags   map[string][]string // flags that are settings, as package config takes them
	faults  config.Faults
	command string // "fork rm": for messages
}

// Main is the whole program, but for the exit itself. The returned code is the process's.
func Main(ctx context.Context, p Process, args []string) int {
	d := deps{Process: p, ctx: ctx, backends: builtIn(), now: time.Now, call: &call{flags: map[string][]string{}}}
	err := d.execute(ctx, args)
	return d.finish(err)
}

func (d deps) execute(ctx context.Context, args []string) error {
	if runtime.GOOS == "windows" {
		return &runner.Error{Reason: "boxer does not run on Windows", Cause: runner.Unsupported, Fix: "wsl boxer"}
	}
	root := newRoot(d)
	args, err := d.sift(root, args)
	if err != nil {
		return err
	}
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	if f, left := errors.AsType[config.Faults](err); left || err == nil {
		return append(d.call.faults, f...).Err()
	}
	return err
}

func newRoot(d deps) *cobra.Command {
	root := &cobra.Command{
		Use:           "boxer",
		Short:         "Forks a prepared sandbox and runs one shard of the tests in each copy",
		Long:          "boxer prepares a sandbox once, forks it into running copies, runs one shard of the tests in each,\nmerges the reports and removes the copies.\n\n" + exitHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version().Version,
	}
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return config.Faults{{What: err.Error()}} })
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVarP(&d.call.dir, "directory", "C", "", "work as if started in this `folder`")
	f.StringVar(&d.call.file, "config", "", "read this `file` instead of the next boxer.yaml upward")
	d.setting(root.PersistentFlags(), "backend", "`kind` of sandbox: auto, gvisor, host or smolvm")
	d.setting(root.PersistentFlags(), "trust", "`auto`: boxer.yaml of a stranger's change in CI is not trusted; all, none, or keys that count all the same")
	root.AddCommand(
		newShard(d, runShard), newUp(d, runUp), newDown(d, runDown), newRun(d, runRun), newFork(d, runFork), newPack(d),
		newList(d, runList), newGC(d, runGC), newMerge(d, runMerge), newDoctor(d, runDoctor), newInit(d, runInit), newVersion(d, runVersion),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// action makes a command's RunE: check puts every fault of the call on the list, do runs if there is none.
func action(d deps, check func(args []string, f *config.Faults), do func(context.Context) error) func(*cobra.Command, []string) error {
	return anywhere(d, func(args []string, f *config.Faults) {
		if _, err := d.dir(); err != nil {
			noteFault(f, err)
		}
		check(args, f)
	}, do)
}

// anywhere is action for what needs no folder to work in.
func anywhere(d deps, check func(args []string, f *config.Faults), do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		check(args, &d.call.faults)
		if len(d.call.faults) > 0 {
			return nil // execute returns them
		}
		return do(c.Context())
	}
}

// noArgs is a check for commands that take nothing but flags.
func noArgs(args []string, f *config.Faults) {
	for _, a := range args {
		fault(f, "", "%q is too much: this command takes flags only", a)
	}
}

func fault(f *config.Faults, where, format string, args ...any) {
	*f = append(*f, config.Fault{Where: where, What: fmt.Sprintf(format, args...)})
}

// dir is the real folder that boxer was called for.
func (d deps) dir() (string, error) {
	dir := d.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", &runner.Error{Reason: "the folder boxer was started in is gone", Cause: "NO_FOLDER", Fix: "cd"}
		}
	}
	if filepath.IsAbs(d.call.dir) {
		dir = d.call.dir
	} else {
		dir = filepath.Join(dir, d.call.dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = errors.New("not a folder")
		}
	}
	if err != nil {
		return "", config.Faults{{Where: "-C", What: fmt.Sprintf("%q cannot be entered: %s", d.call.dir, plain(err))}}
	}
	return real, nil
}

// plain is what the system said, without the path that the message has anyway.
func plain(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func (d deps) getenv(name string) string { return config.Lookup(d.Env, name) }

func (d deps) runnerDirs() (runner.Dirs, error) { return runner.DirsOf(d.getenv, os.Getuid()) }

// say tells the story on stderr. Nobody stops because nobody listens.
func (d deps) say(format string, args ...any) {
	fmt.Fprintf(d.Err, "boxer: %s\n", tame(d.masker().Mask(fmt.Sprintf(format, args...))))
}
