//go:build linux && !cgo

package gvisor

import (
	"os"
	"strings"
	"syscall"

	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/pkg/sentry/kernel/auth"
	"gvisor.dev/gvisor/pkg/state/statefile"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"
	"gvisor.dev/gvisor/runsc/flag"
	runscsandbox "gvisor.dev/gvisor/runsc/sandbox"

	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// linked tells whether gVisor is part of this binary.
func linked() error { return nil }

// client talks to one running sandbox. It is gVisor's library and not `runsc exec`, which costs a second start of
// this binary, says 128 for a program that is not there, and does not end the process inside when it is killed.
type client struct {
	c    *container.Container
	conf *config.Config
}

// connect finds the sandbox by its state file.
func connect(r runsc, id string) (*client, error) {
	flags := flag.NewFlagSet("runsc", flag.ContinueOnError)
	config.RegisterFlags(flags)
	if err := flags.Parse(r.flags); err != nil {
		return nil, err
	}
	conf, err := config.NewFromFlags(flags)
	if err != nil {
		return nil, err
	}
	conf.Rootless = true // of the client alone: or it would give the caller's streams to the sandbox's user
	full := container.FullID{SandboxID: id, ContainerID: id}
	c, err := container.Load(r.root, full, container.LoadOpts{Exact: true, SkipCheck: true})
	if err != nil {
		return nil, err
	}
	return &client{c, conf}, nil
}

// start starts a process and returns its number inside. Every process is the leader of a group of its own.
func (cl *client) start(p process) (int32, guest.Failure, error) {
	files := map[int]*os.File{}
	for i, f := range p.files {
		files[i] = f
	}
	var all, effective auth.CapabilitySet
	for _, c := range p.caps {
		all |= auth.CapabilitySet(1) << c
	}
	if p.uid == 0 {
		effective = all
	}
	args := &control.ExecArgs{
		Filename: p.file, Argv: p.argv, Envv: p.env, WorkingDirectory: p.dir,
		KUID: auth.KUID(p.uid), KGID: auth.KGID(p.gid),
		Capabilities: &auth.TaskCapabilities{PermittedCaps: effective, EffectiveCaps: effective, BoundingCaps: all},
		SupportTTYs:  true,
		FilePayload:  control.NewFilePayload(files, nil),
	}
	for _, g := range p.groups {
		args.ExtraKGIDs = append(args.ExtraKGIDs, auth.KGID(g))
	}
	pid, err := cl.c.Execute(cl.conf, args)
	if err != nil {
		return 0, failureOf(err), err
	}
	return pid, "", nil
}

// failureOf reads from gVisor's text whether the program or the sandbox was at fault.
func failureOf(err error) guest.Failure {
	text := err.Error()
	switch {
	case strings.Contains(text, "error finding executable"):
		if strings.Contains(text, "permission denied") {
			return guest.NotExecutable
		}
		return guest.NotFound
	case strings.Contains(text, "failed to load"):
		if strings.Contains(text, "no such file") {
			return guest.NotFound
		}
		return guest.NotExecutable
	}
	return guest.Broken
}

// wait waits for a process that start started; it must be called once for each.
func (cl *client) wait(pid int32) (syscall.WaitStatus, error) {
	status, err := cl.c.WaitPID(pid)
	return syscall.WaitStatus(status), err
}

func (cl *client) signalGroup(sig syscall.Signal, pid int32) error {
	return cl.c.SignalProcessGroup(sig, pid)
}

// checkpoint writes an image of the whole sandbox into the folder; the sandbox goes on.
func (cl *client) checkpoint(dir string) error {
	return cl.c.Checkpoint(cl.conf, dir, runscsandbox.CheckpointOpts{Resume: true, Compression: statefile.CompressionLevelNone})
}

// pause stops every task of the sandbox where it stands, resume lets them go on. They are the sandbox's own methods and
// not the container's, which would write the state down where runsc reads it.
func (cl *client) pause() error  { return cl.c.Sandbox.Pause(cl.c.ID) }
func (cl *client) resume() error { return cl.c.Sandbox.Resume(cl.c.ID) }

// tarUpper writes what the sandbox changed of its root file system to f.
func (cl *client) tarUpper(f *os.File) error { return cl.c.TarRootfsUpperLayer(f) }

// lastPID is the highest number of a process or thread inside.
func (cl *client) lastPID() (int, error) {
	all, err := cl.c.Processes()
	last := 0
	for _, p := range all {
		last = max(last, int(p.PID))
		for _, t := range p.Threads {
			last = max(last, int(t))
		}
	}
	return last, err
}

// pids are the processes of the sandbox in the keeper's PID namespace.
func (cl *client) pids() []int {
	return []int{cl.c.SandboxPid(), cl.c.GoferPid.Load()}
}
