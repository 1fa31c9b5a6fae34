package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
	"github.com/boxer-ci/boxer/smolvm"
)

func newPack(d deps) *cobra.Command {
	c := &cobra.Command{
		Use: "pack", Short: "Carry a prepared sandbox between hosts, as a file",
		Long: "A pack is the prepared file system of a sandbox in one file: what its services' init, its setup and later\n" +
			"commands changed over the host, and on smolvm the whole disk of the machine. boxer pack save makes one, boxer pack use starts this worktree's sandbox from it\n" +
			"without preparing anything again, here or on another host of the same kind. Running processes and memory are not\n" +
			"in it: the services are started anew, as after a power cut.\n\n" +
			"Packs lie in $XDG_DATA_HOME/boxer/packs (~/.local/share/boxer/packs) until boxer pack rm removes them, or where\n" +
			"--file says, so that a CI cache can carry them.\n\n" +
			"Use only packs of people whose code you would run in the sandbox: that is what starting from one does.",
	}
	c.AddCommand(newPackSave(d, runPackSave), newPackUse(d, runPackUse), newPackList(d, runPackList), newPackRemove(d, runPackRemove))
	return c
}

// packRef says which pack is meant: by name, or as a file.
type packRef struct {
	Name string // "" only with File
	File string // as given
	path string
	made string // by which backend, once it was opened
}

// file adds --file to a command.
func (p *packRef) file(c *cobra.Command) {
	c.Flags().StringVar(&p.File, "file", "", "the pack is this `path`, in no list; NAME may be left out")
}

// read takes the arguments. What is wrong with them goes onto f.
func (p *packRef) read(d deps, command string, args []string, f *config.Faults) {
	if len(args) > 1 {
		fault(f, "", "one pack at a time: %s are too many names", strings.Join(args, " "))
	}
	switch {
	case len(args) > 0:
		p.Name = args[0]
	case p.File == "":
		fault(f, "", "which pack? boxer pack %s NAME, or --file PATH", command)
		return
	}
	if p.Name != "" && !pack.CheckName(p.Name) {
		fault(f, "", "%q is no name for a pack: %s", p.Name, pack.NameRule)
		return
	}
	if p.File == "" {
		shelf, err := d.shelf()
		noteFault(f, err)
		p.path = shelf.Path(p.Name)
		return
	}
	p.path = p.File
	if !filepath.IsAbs(p.path) {
		dir, _ := d.dir() // told by action already
		p.path = filepath.Join(dir, p.path)
	}
}

// words are the pack as it is typed.
func (p packRef) words() string {
	if p.File == "" {
		return p.Name
	}
	return strings.TrimSpace(p.Name + " --file " + p.File)
}

// again is how the pack is made anew.
func (p packRef) again() string {
	line := "boxer up && boxer pack save " + p.words() + " --force"
	if p.made == smolvm.Kind {
		line += " --stop"
	}
	return line
}

// shelf is the folder of named packs.
func (d deps) shelf() (pack.Shelf, error) {
	dirs, err := d.runnerDirs()
	if err == nil && dirs.Data == "" {
		err = &runner.Error{
			Reason: "neither HOME nor XDG_DATA_HOME is set, so there is no place for packs", Cause: "NO_HOME", Fix: "export HOME=/some/folder/of/yours",
		}
	}
	return pack.Shelf{Dir: filepath.Join(dirs.Data, "packs")}, err
}

// open opens the pack and names it in what goes wrong.
func (p packRef) open(d deps) (*pack.Pack, error) {
	got, err := pack.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		if p.File == "" {
			shelf, err := d.shelf()
			if err != nil {
				return nil, err
			}
			return nil, shelf.Unknown(p.Name)
		}
		return nil, &runner.Error{Reason: "there is no file " + p.File, Cause: runner.UnknownPack, Fix: "boxer up && boxer pack save --file " + p.File}
	}
	if err != nil {
		return nil, p.at(err)
	}
	if p.Name != "" && got.Name != p.Name && p.File != "" {
		got.Close()
		return nil, &runner.Error{
			Reason: fmt.Sprintf("%s is the pack %q, not %q", p.File, got.Name, p.Name), Cause: runner.UnknownPack, Fix: "boxer pack use --file " + p.File,
		}
	}
	return got, nil
}

// at puts the pack's name in front of what is wrong with it, and what to type where nobody said.
func (p packRef) at(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*runner.Error](err)
	if !ok {
		return (&runner.Error{Reason: "the pack " + p.path + " cannot be read", Cause: runner.NotAPack, Fix: "ls -l " + p.path}).Because(err)
	}
	named := *e
	named.Reason = p.path + ": " + e.Error()
	if named.Fix == "" {
		named.Fix = p.again()
		if e.Cause == runner.PackTooNew {
			named.Fix = "go install github.com/boxer-ci/boxer/cmd/boxer@latest"
		}
	}
	return named.Because(nil)
}

// packInfo is a pack as answers tell it.
type packInfo struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`    // of the file
	Unpacked int64     `json:"unpacked"` // of what is in it
	Created  time.Time `json:"created"`
	Platform string    `json:"platform"` // "linux/amd64"
	System   string    `json:"system"`   // "debian 12", "" where it is not known
	Backend  string    `json:"backend"`
	Of       string    `json:"of"`       // name of the worktree's folder
	Worktree bool      `json:"worktree"` // it has changes of the worktree too
	Boxer    string    `json:"boxer"`    // the version that made it
	SHA256   string    `json:"sha256"`   // of its content
	Damaged  string    `json:"damaged"`  // why it cannot be used, "" if nothing is known against it
}

func infoOf(m pack.Manifest, path string) packInfo {
	return packInfo{
		Name: m.Name, Path: path, Bytes: m.Size(), Unpacked: m.Root.Bytes + worktreeBytes(m), Created: m.Created,
		Platform: m.OS + "/" + m.Arch, System: m.System, Backend: m.Backend, Of: m.Of, Worktree: m.Worktree != nil,
		Boxer: m.Boxer, SHA256: m.Body.SHA256,
	}
}

func worktreeBytes(m pack.Manifest) int64 {
	if m.Worktree == nil {
		return 0
	}
	return m.Worktree.Bytes
}

// packs tells whether sandboxes of the kind can be packed at all.
func (d deps) packs(kind string) bool {
	for _, b := range d.backends {
		if b.kind == kind {
			return b.packs
		}
	}
	return false
}

// cannotPack is the refusal where the backend cannot. what is the command that another one could do.
func (d deps) cannotPack(kind, command string, scope runner.Scope) error {
	var able []string
	for _, b := range d.backends {
		if b.packs && b.open != nil {
			able = append(able, b.kind)
		}
	}
	if len(able) == 0 {
		able = []string{"gvisor"}
	}
	e := &runner.Error{
		Reason: fmt.Sprintf("the backend %s cannot carry a sandbox in a pack; %s can", kind, strings.Join(able, " and ")),
		Cause:  runner.Unsupported, Fix: fmt.Sprintf(command, able[0]),
	}
	return e.At(scope)
}

// packKind is the backend of the sandbox that runs here, "" if none does. One that was asked for and cannot pack is
// refused, as is one that runs and cannot, or is not the one asked for.
func (d deps) packKind(ctx context.Context, s scoped, command string) (string, error) {
	running, _, err := d.running(ctx, s.scope)
	if err != nil {
		return "", err
	}
	kind := running
	if kind == "" {
		kind = s.Backend
	} else if err := sameKind(s, running); err != nil {
		return "", err
	}
	if kind != "auto" && !d.packs(kind) {
		return "", d.cannotPack(kind, command, s.scope)
	}
	return running, nil
}
