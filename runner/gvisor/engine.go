//go:build linux

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/boxer-ci/boxer/runner"

	"github.com/boxer-ci/boxer/runner/keeper"
	"github.com/boxer-ci/boxer/runner/keeper/reap"
)

// engine is a keeper's gVisor side: one parent and its children.
type engine struct {
	env           keeper.Env
	scope         runner.Scope
	mounts        *mounter
	privileges    privileges
	groups        []uint32
	runsc         runsc
	spec          runner.Spec
	kernelOverlay bool // private worktrees are overlayfs mounts; else gVisor's own overlay covers all mounts

	still  sync.Mutex // held while the parent stands still: to be checkpointed, or packed
	packed bool       // the parent was started from a pack

	mu        sync.Mutex
	sandboxes map[keeper.ID]*sandbox
	images    int             // how many were begun; their numbers are never given twice
	kept      map[string]bool // the folders of images that are being taken or not released yet
	starting  int64           // bytes of memory that children under way will need
}

// sandbox is one running parent or child.
type sandbox struct {
	id      keeper.ID
	client  *client
	line    *line        // to its init
	source  string       // of its worktree, in the keeper's namespace
	private bool         // source is an overlay of its own
	name    string       // container id
	procs   []*reap.Proc // its sentry and its gofer
}

func newEngine(env keeper.Env) (keeper.Engine, error) {
	if err := linked(); err != nil {
		return nil, err
	}
	return &engine{
		env: env, scope: env.Scope,
		privileges: privilegesOf(!env.User),
		groups:     supplementary(env.User),
		sandboxes:  map[keeper.ID]*sandbox{},
		kept:       map[string]bool{},
	}, nil
}

// Boot builds the sandboxes' root and starts the parent on the live worktree, or on a private copy of it.
func (e *engine) Boot(ctx context.Context, spec runner.Spec) (runner.Machine, error) {
	return e.boot(ctx, spec, func() error { return nil })
}

// boot is Boot with something to be put in place before the parent starts.
func (e *engine) boot(ctx context.Context, spec runner.Spec, place func() error) (runner.Machine, error) {
	if err := e.checkMounts(spec.Mounts); err != nil {
		return nil, err
	}
	e.spec = spec
	e.mounts = &mounter{
		layout: layout{dir: e.env.Dir, temp: e.env.Dirs.Temp, worktree: e.scope.Worktree},
		user:   e.env.User,
		hidden: hiddenPaths(e.hiding(spec)),
	}
	for _, m := range spec.Mounts {
		e.mounts.targets = append(e.mounts.targets, m.Target)
	}
	if err := e.mounts.root(e.env.Exe); err != nil {
		return nil, err
	}
	e.kernelOverlay = e.mounts.overlayWorks()
	if err := e.startRunsc(); err != nil {
		return nil, err
	}
	if err := place(); err != nil {
		return nil, err
	}
	private := spec.Worktree == runner.Private
	s := &sandbox{id: keeper.Parent, private: private, name: containerID(int(keeper.Parent))}
	var err error
	if s.source, err = e.worktreeOf(keeper.Parent, spec.Worktree, ""); err != nil {
		return nil, err
	}
	oci, err := newSpec(e.mounts.layout, s.source, e.scope.Slug, e.privileges.init, spec.Mounts)
	if err != nil {
		return nil, err
	}
	e.seed(oci)
	return machine{e, s}, e.launch(ctx, s, oci, "run")
}

func (e *engine) hiding(spec runner.Spec) hiding {
	dirs := e.env.Dirs
	own := []string{dirs.State, dirs.Runtime, dirs.Temp}
	if dirs.Data != "" {
		own = append(own, dirs.Data)
	}
	return hiding{
		worktree: e.scope.Worktree, homes: homesOf(os.Getenv("HOME"), e.home(), valueOf(spec.Env, "HOME")),
		own: own, runnerTemp: os.Getenv("RUNNER_TEMP"),
		hide: spec.Hide, show: spec.Show,
	}
}

// startRunsc settles the flags, which stay the same for the life of the sandbox. gVisor's control sockets lie beside
// its state files, and the path of a socket may have only 108 bytes: so the state folder is reached through the
// folder of boxer's own sockets, which is short, by a mount that only the keeper sees.
func (e *engine) startRunsc() error {
	state := filepath.Join(e.env.Dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	if err := bind(state, e.env.Dirs.Runtime); err != nil {
		return err
	}
	overlay := "root"
	if e.spec.Worktree == runner.Private && !e.kernelOverlay {
		overlay = "all"
	}
	var err error
	e.runsc, err = newRunsc(e.env.Reaper, e.env.Dir, e.mounts.binary(), e.env.Dirs.Runtime, overlay)
	if e.packed {
		e.runsc.flags = append(e.runsc.flags, "--allow-rootfs-tar-annotation")
	}
	return err
}

// worktreeOf prepares what sandbox id gets as its worktree, in the keeper's namespace. below is the upper folder that
// a private one stands on, "" for none.
func (e *engine) worktreeOf(id keeper.ID, w runner.Worktree, below string) (string, error) {
	switch {
	case w == runner.Live && id != keeper.Parent:
		return e.sandboxes[keeper.Parent].source, nil
	case w == runner.Private && e.kernelOverlay:
		if below == "" {
			return e.mounts.privateWorktree(int(id), e.scope.Worktree)
		}
		return e.mounts.privateWorktree(int(id), below, e.scope.Worktree)
	default:
		return e.mounts.live(), e.mounts.liveWorktree()
	}
}

// launch writes the bundle, lets runsc start the sandbox and connects to it. What a failure leaves is removed.
func (e *engine) launch(ctx context.Context, s *sandbox, spec *specs.Spec, verb string, args ...string) error {
	dir := e.mounts.bundle(int(s.id))
	if err := writeBundle(dir, spec); err != nil {
		return err
	}
	var err error
	if s.line, err = newLine(); err != nil {
		return err
	}
	e.put(s)
	err = e.runsc.run(ctx, s.line.theirIn, s.line.theirOut, verb, append([]string{"-detach", "-bundle", dir}, append(args, s.name)...)...)
	s.line.handed()
	if err == nil {
		err = e.connect(s)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		return errors.Join(err, e.remove(undo, s))
	}
	return nil
}

// connect finds the started sandbox and takes its processes, which fell to the keeper when runsc ended.
func (e *engine) connect(s *sandbox) error {
	c, err := connect(e.runsc, s.name)
	if err != nil {
		return err
	}
	for _, pid := range c.pids() {
		p, err := e.env.Reaper.Adopt(pid)
		if err != nil {
			return fmt.Errorf("the sandbox ended as it started: %w", err)
		}
		s.procs = append(s.procs, p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.client = c
	return nil
}

func (e *engine) put(s *sandbox) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sandboxes[s.id] = s
}

// get finds a sandbox that can be used.
func (e *engine) get(id keeper.ID) (*sandbox, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sandboxes[id]
	if s == nil || s.client == nil {
		return nil, errNoSandbox
	}
	return s, nil
}

// Exec runs a command: in the parent as a child of init, in a child directly.
func (e *engine) Exec(ctx context.Context, id keeper.ID, c runner.Command) (runner.Exit, error) {
	s, err := e.get(id)
	if err != nil {
		return runner.Exit{}, err
	}
	if id != keeper.Parent {
		return e.execChild(ctx, s, c, e.privileges.commands)
	}
	return e.execParent(ctx, s, c, e.privileges.commands)
}

const removeTimeout = 10 * time.Second

// Remove ends children. Every one is tried.
func (e *engine) Remove(ctx context.Context, ids []keeper.ID) error {
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		e.mu.Lock()
		s := e.sandboxes[id]
		e.mu.Unlock()
		if s != nil {
			wg.Go(func() { errs[i] = e.remove(ctx, s) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// remove kills the processes of a sandbox and frees its files.
func (e *engine) remove(ctx context.Context, s *sandbox) error {
	s.line.close()
	procs := s.procs
	if procs == nil {
		procs = e.strays(s)
	}
	for _, p := range procs {
		p.Signal(syscall.SIGKILL) //nolint:errcheck // ended already
	}
	for _, p := range procs {
		if _, err := p.Wait(ctx); err != nil {
			return fmt.Errorf("end sandbox %s: %w", s.name, err)
		}
	}
	err := errors.Join(e.removeState(s), e.mounts.removeSandbox(int(s.id)))
	if err == nil {
		e.mu.Lock()
		delete(e.sandboxes, s.id)
		e.mu.Unlock()
	}
	return err
}

// strays are the processes of a sandbox whose start was cut off before it had a state file: those that fell to the
// keeper and whose arguments name the sandbox's bundle.
func (e *engine) strays(s *sandbox) []*reap.Proc {
	all, err := reap.Processes()
	if err != nil {
		return nil
	}
	bundle := e.mounts.bundle(int(s.id))
	var out []*reap.Proc
	for _, stat := range all {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", stat.PID))
		if err != nil || !names(args, bundle) {
			continue
		}
		if p, err := e.env.Reaper.Adopt(stat.PID); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// names tells whether one whole argument, or the value of one, is path.
func names(cmdline []byte, path string) bool {
	for _, arg := range strings.Split(string(cmdline), "\x00") {
		if arg == path || strings.HasSuffix(arg, "="+path) {
			return true
		}
	}
	return false
}

// removeState unlinks what runsc keeps of a sandbox: its state, the lock beside it, the control socket.
func (e *engine) removeState(s *sandbox) error {
	matches, err := filepath.Glob(filepath.Join(e.runsc.root, "*"+s.name+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range matches {
		if err := os.RemoveAll(m); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Alive tells whether the sandbox's processes are there.
func (e *engine) Alive(id keeper.ID) bool {
	s, err := e.get(id)
	if err != nil {
		return false
	}
	for _, p := range s.procs {
		select {
		case <-p.Done():
			return false
		default:
		}
	}
	return true
}

// Close ends all sandboxes. The keeper's end would do the same; this frees the mounts and files first.
func (e *engine) Close(ctx context.Context) error {
	e.mu.Lock()
	var ids []keeper.ID
	for id := range e.sandboxes {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	return e.Remove(ctx, ids)
}
