package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
	"github.com/boxer-ci/boxer/smolvm"
)

type packSaveOptions struct {
	deps
	packRef
	scoped              scoped
	Force, Stop, Memory bool
}

func newPackSave(d deps, run func(context.Context, packSaveOptions) error) *cobra.Command {
	o := packSaveOptions{deps: d}
	c := &cobra.Command{
		Use: "save NAME | save --file PATH", Short: "Save the running sandbox's file system as a pack",
		Long: "Saves what the running sandbox of this worktree changed over the host as a pack. What runs in it stands still for\n" +
			"the moment and goes on: a database in the pack is as after a power cut, which it recovers from when it is started.\n\n" +
			"In the pack: all that services and setup wrote outside the worktree, and where the sandbox has a private worktree\n" +
			"(boxer shard --keep), what they wrote there. Never in it: hidden places, .git, running processes, memory.\n\n" +
			"On smolvm the pack is smolvm's own, of the machine's whole disk, and a machine must be stopped for it: while it runs,\n" +
			"save is refused, and so is a sandbox with children or with a private worktree. --stop stops it, which ends what runs\n" +
			"in it and that it can be forked, saves it and removes it. Where saving fails then, the stopped machine is kept, so\n" +
			"that the same command tries again. boxer pack use starts a sandbox from the pack that can be forked as any other.",
	}
	o.file(c)
	c.Flags().BoolVar(&o.Force, "force", false, "replace a pack of this name")
	c.Flags().BoolVar(&o.Stop, "stop", false, "remove the sandbox once it is saved, as boxer down does; on smolvm stop it first")
	c.Flags().BoolVar(&o.Memory, "memory", false, "refused: memory cannot be carried to another host")
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		o.read(d, "save", args, f)
		if o.Name == "" && o.File != "" {
			var ok bool
			if o.Name, ok = pack.NameOf(o.File); !ok {
				fault(f, "--file", "its name %q is none for a pack, so give one: %s", o.Name, pack.NameRule)
			}
		}
		o.scoped = d.resolve(f)
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// packSaveAnswer is the document of pack save --json.
type packSaveAnswer struct {
	Schema  int      `json:"schema"`
	Pack    packInfo `json:"pack"`
	LeftOut []string `json:"left_out"` // hidden places in which the sandbox had files
	Stopped bool     `json:"stopped"`  // the sandbox was removed
}

func runPackSave(ctx context.Context, o packSaveOptions) error {
	if o.Memory {
		return (&runner.Error{
			Reason: "memory cannot be packed: it is tied to a mount of this host, for the worktree is always mounted in a sandbox",
			Cause:  runner.MemoryNotPortable, Fix: "boxer pack save " + o.words(),
		}).At(o.scoped.scope)
	}
	session, err := o.session(ctx)
	if err != nil {
		return at(err, o.scoped.scope)
	}
	answer, err := o.save(ctx, session)
	if err != nil {
		return errors.Join(at(err, o.scoped.scope), session.Close())
	}
	if o.Stop {
		err = session.Down(ctx)
		answer.Stopped = err == nil
	}
	err = errors.Join(at(err, o.scoped.scope), session.Close())
	o.tell(answer)
	return errors.Join(err, o.answer(answer, answer.Pack.Path))
}

// session is the running sandbox. Everything that can be refused is refused before anything is read.
func (o packSaveOptions) session(ctx context.Context) (runner.Session, error) {
	running, err := o.packKind(ctx, o.scoped, "boxer down && boxer up --backend %s && boxer pack save "+o.words())
	if err != nil {
		return nil, err
	}
	if running == "" {
		return nil, notRunning(o.scoped.scope)
	}
	if _, err := os.Lstat(o.path); err == nil && !o.Force {
		return nil, o.exists(pack.Exists(o.path))
	}
	return o.attach(ctx, o.scoped.scope)
}

func (o packSaveOptions) exists(err error) error {
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Cause == runner.PackExists {
		e.Fix = "boxer pack save " + o.words() + " --force"
	}
	return err
}

func (o packSaveOptions) save(ctx context.Context, session runner.Session) (packSaveAnswer, error) {
	var answer packSaveAnswer
	packer, ok := session.(runner.Packer)
	if !ok {
		kind, _ := o.recordedKind(o.scoped.scope)
		return answer, o.cannotPack(kind, "boxer down && boxer up --backend %s && boxer pack save "+o.words(), o.scoped.scope)
	}
	w, err := o.create()
	if err != nil {
		return answer, o.unwritten(err)
	}
	defer w.Abort()
	halter, halts := session.(runner.Halter)
	if halts && o.Stop {
		if err := halter.Halt(ctx); err != nil {
			return answer, err
		}
		o.say("stopped the sandbox: what ran in it has ended, and it cannot be forked any more")
	}
	packed, err := packer.Pack(ctx, w)
	var m pack.Manifest
	if err == nil {
		m, err = w.Commit(o.manifest(packed), o.Force)
	}
	if err != nil && halts && o.Stop {
		o.say("nothing was saved, and the stopped sandbox is kept: the same command tries again, boxer down removes it")
	}
	if err != nil {
		return answer, o.unwritten(o.stoppable(o.exists(err)))
	}
	return packSaveAnswer{schema, infoOf(m, o.path), append([]string{}, packed.LeftOut...), false}, nil
}

// stoppable says what to type where a sandbox must not run.
func (o packSaveOptions) stoppable(err error) error {
	if e, ok := errors.AsType[*runner.Error](err); ok && e.Cause == runner.MustBeStopped {
		e.Fix = "boxer pack save " + o.words() + " --stop"
		if o.Force {
			e.Fix += " --force"
		}
	}
	return err
}

func (o packSaveOptions) create() (*pack.Writer, error) {
	if o.File == "" {
		shelf, err := o.shelf()
		if err == nil {
			err = shelf.Make()
		}
		if err != nil {
			return nil, err
		}
	}
	return pack.Create(o.path)
}

// unwritten says where the pack could not be written to.
func (o packSaveOptions) unwritten(err error) error {
	_, isPath := errors.AsType[*fs.PathError](err)
	_, isLink := errors.AsType[*os.LinkError](err)
	_, known := errors.AsType[*runner.Error](err)
	switch {
	case known:
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return (&runner.Error{
			Reason: "the disk of " + filepath.Dir(o.path) + " is full, and nothing was saved", Cause: runner.NoSpace,
			Fix: "boxer pack save " + o.Name + " --file /a/larger/disk/" + o.Name + ".tar.zst",
		}).Because(err)
	case isPath, isLink:
		return (&runner.Error{
			Reason: "the pack cannot be written to " + o.path, Cause: "NOT_WRITABLE", Fix: "ls -ld " + filepath.Dir(o.path) + " " + o.path,
		}).Because(errors.New(plain(err)))
	}
	return err
}

func (o packSaveOptions) manifest(p runner.Packed) pack.Manifest {
	v := version()
	kind, _ := o.recordedKind(o.scoped.scope)
	m := pack.Manifest{
		Name: o.Name, Created: o.now().UTC(), Boxer: v.Version, OS: runtime.GOOS, Arch: runtime.GOARCH,
		LastPID: p.LastPID, Backend: kind, Of: filepath.Base(o.scoped.scope.Worktree), Config: pack.ConfigOf(p.Spec, o.scoped.scope.Worktree),
		Root: p.Root, Worktree: p.Worktree,
	}
	if kind == "gvisor" {
		m.GVisor, m.System = v.GVisor, systemName() // its programs are the host's
	}
	return m
}

func (o packSaveOptions) tell(a packSaveAnswer) {
	what := size(a.Pack.Unpacked) + " of changes"
	if a.Pack.Backend == smolvm.Kind {
		what = "the machine's disk"
	}
	o.say("saved %s as %s (%s)", what, a.Pack.Name, size(a.Pack.Bytes))
	if len(a.LeftOut) > 0 {
		o.say("left out, for hidden places enter no pack: %s", strings.Join(a.LeftOut, ", "))
	}
	if a.Stopped {
		o.say("the sandbox was removed, with its children")
	}
}

// systemName is what the host calls itself, "debian 12"; "" where it does not.
// https://www.freedesktop.org/software/systemd/man/latest/os-release.html
func systemName() string {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	values := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), "="); ok {
			values[k] = strings.Trim(v, `"'`)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", values["ID"], values["VERSION_ID"]))
}
