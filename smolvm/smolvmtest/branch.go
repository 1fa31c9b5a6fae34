package smolvmtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// branch is `machine branch`: of one child by name, or of a batch.
func (c *call) branch() (int, error) {
	count, err := c.args.number("count", 1, 1)
	if err != nil {
		return 2, err
	}
	name, prefix := c.args.one("name"), c.args.one("name-prefix")
	batch := count > 1 || prefix != "" || c.args.has("hold")
	switch {
	case !c.args.has("from"):
		return 2, usage("the following required arguments were not provided:\n  --from <SOURCE>")
	case count > 1024:
		return 1, failf("config operation failed: fork: --count cannot exceed 1024 children per batch")
	case name != "" && prefix != "":
		return 1, failf("config operation failed: fork: use either --name or --name-prefix, not both")
	case name != "" && count > 1:
		return 1, failf("config operation failed: fork: --name cannot be used with --count greater than 1")
	case name == "" && prefix == "" && count == 1:
		return 1, failf("config operation failed: fork: --name is required for one child")
	case name == "" && prefix == "":
		return 1, failf("config operation failed: fork: --name-prefix is required for a batch")
	case batch && c.args.has("port"):
		return 1, failf("config operation failed: fork: pinned --port mappings are not supported for a batch")
	case batch && c.args.has("branchable"):
		return 1, failf("config operation failed: fork: --branchable is not supported for batch children")
	}
	names := []string{name}
	if prefix != "" {
		names = nil
		for i := range count {
			names = append(names, fmt.Sprintf("%s-%d", prefix, i))
		}
	}
	for _, n := range names {
		if err := checkName(n); err != nil {
			return 1, err
		}
	}
	return c.branchLocked(names, batch)
}

// branchLocked does it all with the source's lock held, as smolvm does: two branches of one source come one after the
// other.
func (c *call) branchLocked(names []string, batch bool) (int, error) {
	from := c.args.one("from")
	unlock, err := c.store.operation(from)
	if err != nil {
		return 1, err
	}
	defer unlock()
	if batch || c.args.has("wait-ready") {
		if err := c.awaitBranchpoint(from); err != nil {
			return 1, err
		}
	}
	if batch {
		if err := c.free(names); err != nil {
			return 1, err
		}
	}
	for i, name := range names {
		if err := c.branchOne(from, name, i); err != nil {
			var errs []error
			for _, made := range names[:i] {
				errs = append(errs, c.remove(made, false, func(string) {}))
			}
			if batch {
				err = fmt.Errorf("%w; source '%s' continues running with retained checkpoint %s so the fork can be retried safely",
					err, from, c.store.vm(from))
			}
			return 1, errors.Join(append([]error{err}, errs...)...)
		}
	}
	return 0, nil
}

func (c *call) free(names []string) error {
	all, err := c.store.all()
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, taken := all[n]; taken {
			return exists(n)
		}
	}
	return nil
}

func exists(name string) error {
	return failf("agent operation failed: fork: machine '%s' already exists", name)
}

// branchpoint is the file by which a workload of the stand-in says that it reached its branchpoint, where the real one
// runs smolvm-branch-ready.
const branchpoint = "/run/smolvm-branch-ready"

func (c *call) awaitBranchpoint(from string) error {
	limit := 10 * time.Minute
	if d, err := c.args.duration("ready-timeout"); err != nil {
		return err
	} else if d > 0 {
		limit = d
	}
	m, err := c.store.get(from)
	if err != nil || m.State != running {
		return failf("agent operation failed: fork: connect control socket of '%s': No such file or directory (os error 2)", from)
	}
	s, err := c.attach(m)
	if err != nil {
		return err
	}
	defer s.Close()
	deadline := time.Now().Add(c.scaled(limit))
	for (guest{s, m}).shell(c.ctx, "test -e "+branchpoint) != nil {
		if time.Now().After(deadline) {
			return failf("agent operation failed: fork: machine '%s' did not reach a branchpoint within %ds", from, int(limit.Seconds()))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// scaled makes a wait of smolvm's as short as the test wants it.
func (c *call) scaled(d time.Duration) time.Duration {
	factor, err := strconv.ParseFloat(c.getenv("SMOLVM_TEST_SCALE"), 64)
	if err != nil || factor < 0 {
		return d
	}
	return time.Duration(float64(d) * factor)
}

// branchOne makes one child, or leaves nothing of it.
func (c *call) branchOne(from, name string, index int) error {
	if err := c.free([]string{name}); err != nil {
		return err
	}
	src, err := c.store.get(from)
	if err != nil {
		return err
	}
	if err := c.branchable(src); err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "Preparing branch from '%s'...\n", from)
	child, err := c.childOf(src, name, index)
	if err != nil {
		return err
	}
	err = c.store.change(func(all map[string]machine) error {
		if _, taken := all[name]; taken {
			return exists(name)
		}
		all[name] = child
		return nil
	})
	if err != nil {
		return err
	}
	if f := c.fault("kill"); f != nil {
		f.kill()
	}
	c.slow()
	if f := c.fault("boot"); f != nil && f.or("1") == strconv.Itoa(index+1) {
		err = errNotReady
	} else if err = c.fork(&src, &child); err != nil {
		err = failf("agent operation failed: fork: %w", err)
	}
	if err != nil {
		forget := c.store.change(func(all map[string]machine) error {
			delete(all, name)
			return nil
		})
		return errors.Join(err, forget)
	}
	fmt.Fprintf(c.Out, "Machine '%s' running (PID: %d)\n", name, child.Process.PID)
	end := "continues running"
	if src.State == frozen {
		end = "stays frozen"
	}
	fmt.Fprintf(c.Err, "Branched '%s' -> '%s'. Source %s.\n", from, name, end)
	return nil
}

// branchable are the refusals.
func (c *call) branchable(src machine) error {
	mode := func(mode string) bool {
		return slices.ContainsFunc(src.Volumes, func(v volume) bool { return v.Mode == mode })
	}
	switch {
	case src.State != running && src.State != frozen:
		return failf("agent operation failed: fork: golden '%s' is not running forkable", src.Name)
	case !src.Source && !src.Stored:
		return failf("agent operation failed: fork: machine '%s' was not started as branchable", src.Name)
	case mode(staged):
		return failf("config operation failed: fork: staged mounts cannot be branched yet because multiple descendants would synchronize into the same host directory")
	case mode(remote):
		return failf("config operation failed: fork: machine '%s' has remote volumes, which cannot be branched yet", src.Name)
	case c.fault("memory") != nil:
		return failf("vm creation failed: branch needs at least %d MiB of effective host headroom for 1 children", src.Memory)
	case src.Child != "":
		return failf("agent operation failed: fork: smolvmtest: the stand-in cannot branch a machine that is a branch itself")
	}
	return nil
}

// childOf is the record of a new child: a copy of the source's.
func (c *call) childOf(src machine, name string, index int) (machine, error) {
	child := src
	child.Name, child.State, child.CreatedAt, child.Parent = name, created, time.Now().Unix(), src.Name
	child.Process, child.Source, child.Child = process{}, false, ""
	child.Scope = "" // until it has a sandbox: what is left of a half-made one must not be taken for its source
	child.Stored = c.args.has("branchable")
	env, err := environment(c.args.values["env"])
	if err != nil {
		return child, err
	}
	child.Env = slices.Clone(src.Env)
	for _, e := range env {
		child.Env = append(child.Env, strings.NewReplacer("{index}", strconv.Itoa(index), "{name}", name).Replace(e))
	}
	if c.args.has("name-prefix") {
		child.Env = append(child.Env, "SMOLVM_BRANCH_NAME="+name, fmt.Sprintf("SMOLVM_BRANCH_INDEX=%d", index),
			"SMOLVM_BRANCH_BATCH_ID="+src.Name, "SMOLVM_BRANCH_BATCH_SIZE="+c.args.one("count"))
	}
	if c.args.has("port") {
		child.Ports, err = ports(c.args.values["port"])
		return child, err
	}
	child.Ports = nil
	for _, p := range src.Ports {
		free, err := freePort()
		if err != nil {
			fmt.Fprintf(c.Err, "WARN no free host port for guest port %d; dropped\n", p.Guest)
			continue
		}
		fmt.Fprintf(c.Err, "port %s (source) remapped to %d->%d (child)\n", p, free, p.Guest)
		child.Ports = append(child.Ports, port{free, p.Guest})
	}
	return child, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// fork copies the sandbox. A source that is to be frozen has its processes stopped first, and a child's are let go on:
// so all its children come from one moment.
func (c *call) fork(src, child *machine) error {
	s, err := c.attach(*src)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.args.has("freeze-source") && src.State != frozen {
		if err := (guest{s, *src}).signal(c.ctx, "STOP"); err != nil {
			return err
		}
		src.State = frozen
		if err := c.store.update(src.Name, func(now *machine) { now.State = frozen }); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Err, "Booting child '%s' from the checkpoint...\n", child.Name)
	made, err := copySandbox(c.ctx, s)
	if err != nil {
		return err
	}
	child.Scope, child.Child = src.Scope, made.Key
	if src.State == frozen {
		err = guest{s, *child}.signal(c.ctx, "CONT")
	}
	if err == nil {
		err = os.MkdirAll(c.store.vm(child.Name), 0o700)
	}
	if err == nil {
		child.Process, err = startProcess(c.store.vm(child.Name))
	}
	if err == nil {
		child.State = running
		err = c.store.update(child.Name, func(now *machine) { *now = *child })
	}
	if err == nil {
		err = s.Keep(c.ctx, made.Key) // last, so that of a call that is killed no sandbox is left
	}
	if err != nil {
		child.Process.kill()
		return errors.Join(err, s.Remove(c.ctx, made.Key))
	}
	return nil
}

func copySandbox(ctx context.Context, s runner.Session) (runner.Child, error) {
	source, err := s.(runner.Forker).Freeze(ctx, runner.ForkOptions{Worktree: runner.Live})
	if err != nil {
		return runner.Child{}, err
	}
	child, err := source.Fork(ctx)
	return child, errors.Join(err, source.Release(ctx))
}
