package smolvmtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// held is the machine of the call, which no other call changes until unlock.
func (c *call) held() (m machine, unlock func(), err error) {
	if unlock, err = c.store.operation(c.machine); err != nil {
		return m, nil, err
	}
	if m, err = c.store.get(c.machine); err != nil {
		unlock()
	}
	return m, unlock, err
}

// start is `machine start`.
func (c *call) start() (int, error) {
	m, unlock, err := c.held()
	if err != nil {
		return 1, err
	}
	defer unlock()
	switch m.State {
	case running:
		fmt.Fprintf(c.Out, "Machine '%s' already running (PID: %d)\n", m.Name, m.Process.PID)
		return 0, nil
	case frozen:
		return 1, failf("'%s' is frozen because it is the fork base of other machines", m.Name)
	}
	fmt.Fprintf(c.Err, "Starting machine '%s'...\n", m.Name)
	c.slow()
	if err := c.startable(m); err != nil {
		return 1, err
	}
	m.Process.kill() // of one that does not answer
	m.Source = c.args.has("branchable")
	if err := c.boot(&m); err != nil {
		return 1, failf("agent operation failed: start machine: %w", err)
	}
	fmt.Fprintf(c.Out, "Machine '%s' running (PID: %d)\n", m.Name, m.Process.PID)
	return 0, nil
}

var errNotReady = errors.New("agent operation failed: start machine: agent did not become ready within 30 seconds")

// startable refuses what smolvm would find out while it starts the machine.
func (c *call) startable(m machine) error {
	if c.fault("timeout") != nil {
		return errNotReady
	}
	for _, v := range m.Volumes {
		if _, err := os.Stat(v.Host); err != nil && v.Mode != remote {
			return errNotReady // it names nothing
		}
	}
	all, err := c.store.all()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name == m.Name || other.now().State != running {
			continue
		}
		for _, p := range m.Ports {
			if slices.ContainsFunc(other.Ports, func(o port) bool { return o.Host == p.Host }) {
				return failf("host port %d is already in use by running machine '%s'", p.Host, other.Name)
			}
		}
	}
	return nil
}

// boot brings the machine up, writes that down, and runs what belongs to a start.
func (c *call) boot(m *machine) error {
	s, err := c.wake(m)
	if err != nil {
		return err
	}
	defer s.Close()
	if m.Process, err = startProcess(c.store.vm(m.Name)); err != nil {
		return err
	}
	m.State = running
	if err := c.store.update(m.Name, func(now *machine) { *now = *m }); err != nil {
		m.Process.kill()
		return err
	}
	g := guest{s, *m}
	if m.InitDone && len(m.Init) > 0 {
		fmt.Fprintf(c.Out, "Init already completed, skipping %d command(s)\n", len(m.Init))
	} else {
		for _, line := range m.Init {
			if err := g.shell(c.ctx, line); err != nil {
				return errors.Join(fmt.Errorf("init: %s: %w", line, err), c.shut(*m))
			}
		}
	}
	if len(m.Workload) > 0 {
		if _, err := g.detach(c.ctx, m.Workload); err != nil {
			return errors.Join(fmt.Errorf("workload: %w", err), c.shut(*m))
		}
	}
	m.InitDone = true
	return c.store.update(m.Name, func(now *machine) { now.InitDone = true })
}

// stop is `machine stop`.
func (c *call) stop() (int, error) {
	m, unlock, err := c.held()
	if err != nil {
		return 1, err
	}
	defer unlock()
	switch m.State {
	case running, unreachable:
	case frozen:
		all, err := c.store.all()
		if err != nil {
			return 1, err
		}
		if list := children(all, m.Name); len(list) > 0 {
			return 1, failf("agent operation failed: stop machine: '%s' is frozen because it is the fork base for %d clone(s) (%s); stop or delete the clones first",
				m.Name, len(list), strings.Join(list, ", "))
		}
	default:
		fmt.Fprintf(c.Out, "Machine '%s' is not running (state: %s)\n", m.Name, m.State)
		return 0, nil
	}
	fmt.Fprintf(c.Out, "Stopping machine '%s'...\n", m.Name)
	c.slow()
	if err := c.shut(m); err != nil {
		return 1, failf("agent operation failed: stop machine: %w", err)
	}
	fmt.Fprintf(c.Out, "Stopped machine: %s\n", m.Name)
	return 0, nil
}

// shut takes from a machine all but its disk.
func (c *call) shut(m machine) error {
	err := c.reset(m)
	m.Process.kill()
	return errors.Join(err, c.store.update(m.Name, func(now *machine) {
		now.State, now.Process, now.Source = stopped, process{}, false
	}))
}

// delete is `machine delete`.
func (c *call) delete() (int, error) {
	all, err := c.store.all()
	if err != nil {
		return 1, err
	}
	if _, ok := all[c.machine]; !ok {
		return 1, notFound(c.machine)
	}
	if !c.args.has("force") && !c.args.has("cascade") {
		if ok, err := c.confirm(); !ok || err != nil {
			return 0, err
		}
	}
	return 0, c.remove(c.machine, c.args.has("cascade"), func(name string) { fmt.Fprintf(c.Out, "Deleted machine: %s\n", name) })
}

func (c *call) confirm() (bool, error) {
	if !term.IsTerminal(int(c.In.Fd())) {
		return false, failf("config operation failed: delete machine: deleting '%s' needs confirmation but stdin is not a terminal; use --force", c.machine)
	}
	fmt.Fprintf(c.Err, "Delete machine '%s'? [y/N] ", c.machine)
	answer := make([]byte, 1)
	if _, err := c.In.Read(answer); err != nil && err != io.EOF {
		return false, err
	}
	if answer[0] != 'y' && answer[0] != 'Y' {
		fmt.Fprintln(c.Out, "Cancelled")
		return false, nil
	}
	return true, nil
}

// remove deletes a machine, and with cascade first those that were branched from it. Each is told.
func (c *call) remove(name string, cascade bool, tell func(string)) error {
	all, err := c.store.all()
	if err != nil {
		return err
	}
	if cascade {
		for _, child := range children(all, name) {
			if err := c.remove(child, true, tell); err != nil {
				return err
			}
		}
	}
	unlock, err := c.store.operation(name)
	if err != nil {
		return err
	}
	defer unlock()
	if all, err = c.store.all(); err != nil {
		return err
	}
	m, ok := all[name]
	if !ok {
		return notFound(name)
	}
	if list := children(all, name); len(list) > 0 {
		return failf("agent operation failed: delete machine: machine '%s' is the fork base for %d clone(s) (%s); delete the clones first or use --cascade to remove them too",
			name, len(list), strings.Join(list, ", "))
	}
	c.slow()
	if err := c.discard(m); err != nil {
		return failf("agent operation failed: delete machine: %w", err)
	}
	m.Process.kill()
	if err := os.RemoveAll(c.store.vm(name)); err != nil {
		return err
	}
	err = c.store.change(func(all map[string]machine) error {
		delete(all, name)
		if len(all) == 0 { // nobody starts anything then
			os.Remove(c.store.dirs().Runtime) //nolint:errcheck // it may not be there, and one that is not empty stays
		}
		return nil
	})
	if err == nil {
		tell(name)
	}
	return err
}

// sync is `machine sync`; a staged mount of the stand-in is a live one.
func (c *call) sync() (int, error) {
	m, unlock, err := c.held()
	if err != nil {
		return 1, err
	}
	defer unlock()
	if !slices.ContainsFunc(m.Volumes, func(v volume) bool { return v.Mode == staged }) {
		fmt.Fprintf(c.Out, "Machine '%s' has no staged mounts\n", m.Name)
	}
	return 0, nil
}
