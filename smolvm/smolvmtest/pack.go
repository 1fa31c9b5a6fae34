package smolvmtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// packed is the first line of a pack, or of a checkpoint. The machine's disk comes after it.
type packed struct {
	Smolmachine int // its version
	Machine     machine
	Disk        int64 // bytes
	LastPID     int
}

// packCreate is `pack create`.
func (c *call) packCreate() (int, error) {
	out := c.args.one("output")
	switch {
	case out == "":
		return 2, usage("the following required arguments were not provided:\n  --output <STUB>")
	case strings.HasSuffix(out, ".smolmachine"):
		return 1, failf("config operation failed: pack: the output must not end in .smolmachine")
	}
	m := machine{Image: c.args.one("image")}
	if name := c.args.one("from-vm"); name != "" {
		unlock, err := c.store.operation(name)
		if err != nil {
			return 1, err
		}
		defer unlock()
		if m, err = c.store.get(name); err != nil {
			return 1, err
		}
		if m.State != stopped && m.State != created {
			return 1, failf("config operation failed: pack: VM '%s' is running. Stop it first with: smolvm machine stop --name %[1]s", name)
		}
	} else if m.Image == "" {
		return 2, usage("the following required arguments were not provided:\n  <--image <REF>|--from-vm <NAME>>")
	}
	c.slow()
	if err := os.WriteFile(out, []byte("#!/bin/sh\necho 'a stub of smolvmtest' >&2\nexit 1\n"), 0o755); err != nil {
		return 1, err
	}
	return 0, c.writePack(out+".smolmachine", m)
}

func (c *call) writePack(path string, m machine) error {
	disk, err := os.CreateTemp(c.store.dir, "pack-")
	if err != nil {
		return err
	}
	defer disk.Close()
	if err := os.Remove(disk.Name()); err != nil {
		return err
	}
	p := packed{Smolmachine: 1, Machine: m}
	if m.State == stopped {
		if p.LastPID, err = c.diskOf(m, disk); err != nil {
			return failf("config operation failed: pack: %w", err)
		}
		if p.Disk, err = disk.Seek(0, io.SeekCurrent); err != nil {
			return err
		}
	}
	head, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(append(head, '\n')); err != nil {
		return err
	}
	if _, err := disk.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(f, disk)
	return err
}

// diskOf writes what the machine changed.
func (c *call) diskOf(m machine, to io.Writer) (lastPID int, err error) {
	if m.Child != "" {
		return 0, errors.New("smolvmtest: the stand-in cannot pack a branch")
	}
	s, err := c.attach(m)
	if err != nil {
		return 0, err
	}
	p, err := s.(runner.Packer).Pack(c.ctx, to)
	return p.LastPID, errors.Join(err, s.Close())
}

// openPack reads the configuration of a pack; what is left to read is its disk.
func openPack(path string) (f *os.File, disk io.Reader, p packed, err error) {
	if f, err = os.Open(path); err != nil {
		return nil, nil, p, failf("config operation failed: create machine: %w", err)
	}
	r := bufio.NewReader(f)
	line, _ := r.ReadBytes('\n') // one that is cut off is no JSON
	if json.Unmarshal(line, &p) != nil || p.Smolmachine != 1 {
		f.Close()
		return nil, nil, p, failf("config operation failed: create machine: sidecar file too small to contain footer")
	}
	return f, r, p, nil
}

// unpack takes the configuration of a pack over.
func (m *machine) unpack(path string) error {
	f, _, p, err := openPack(path)
	if err != nil {
		return err
	}
	m.Image, m.Init, m.InitDone, m.LastPID = p.Machine.Image, p.Machine.Init, p.Machine.InitDone, p.LastPID
	if len(m.Workload) == 0 {
		m.Workload = p.Machine.Workload
	}
	if m.Workdir == "" {
		m.Workdir = p.Machine.Workdir
	}
	return f.Close()
}

// diskFile is where the disk of a pack waits for the machine's first start.
func (s store) diskFile(name string) string { return filepath.Join(s.vm(name), "disk.tar") }

// layDown puts the disk of the pack aside for the machine.
func (c *call) layDown(name, path string) error {
	f, disk, p, err := openPack(path)
	if err != nil || p.Disk == 0 {
		return err
	}
	defer f.Close()
	to, err := os.Create(c.store.diskFile(name))
	if err != nil {
		return err
	}
	defer to.Close()
	if n, err := io.Copy(to, disk); err != nil || n != p.Disk {
		return failf("config operation failed: create machine: the pack is cut off (%d of %d bytes): %v", n, p.Disk, err)
	}
	return nil
}

// startFresh starts a sandbox, from the disk of a pack if there is one.
func (c *call) startFresh(b backend, scope runner.Scope, m *machine, spec runner.Spec) (runner.Session, error) {
	path := c.store.diskFile(m.Name)
	disk, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return b.Start(c.ctx, scope, spec, nil)
	}
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	info, err := disk.Stat()
	if err != nil {
		return nil, err
	}
	s, err := b.StartPacked(c.ctx, scope, spec, runner.PackStream{From: disk, Size: info.Size(), LastPID: m.LastPID}, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return s, os.Remove(path)
}
