//go:build linux

package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// openFiles is the limit of open files inside. A million, as some container engines give, makes programs slow that
// close every possible file before they start another.
const openFiles = 65536

// newSpec is the OCI specification of a sandbox whose worktree comes from source. Between a checkpoint and its
// restores only the sources of mounts and the host name may differ.
func newSpec(l layout, source, hostname string, caps []uintptr, mounts []runner.Mount) (*specs.Spec, error) {
	worktree, err := worktreeMount(l.worktree, source)
	if err != nil {
		return nil, err
	}
	names := capabilityNames(caps)
	return &specs.Spec{
		Version: specs.Version,
		Process: &specs.Process{
			Args:         guest.Init(l.guest()),
			Env:          []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
			Cwd:          "/",
			Capabilities: &specs.LinuxCapabilities{Bounding: names, Effective: names, Permitted: names},
			Rlimits:      []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: openFiles, Soft: openFiles}},
		},
		Root:     &specs.Root{Path: l.rootfs()},
		Hostname: hostname,
		Mounts: append([]specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts"},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=1777"}},
			worktree,
		}, extraMounts(mounts)...),
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace},
			{Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
		}},
	}, nil
}

// worktreeMount binds source at the worktree's path. gVisor adds options of its own by the file system that a source
// lies on, and compares the lists at a restore, where ours may lie on another: so each list gets by hand what gVisor
// will not add to it by itself.
func worktreeMount(worktree, source string) (specs.Mount, error) {
	var fs, real unix.Statfs_t
	if err := errors.Join(unix.Statfs(source, &fs), unix.Statfs(worktree, &real)); err != nil {
		return specs.Mount{}, err
	}
	options := []string{"rbind", "rw"}
	if fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		options = append(options, "overlayfs_stale_read")
	}
	if isRemote(real.Type) && !isRemote(fs.Type) {
		options = append(options, "disable_file_handle_sharing")
	}
	return specs.Mount{Destination: worktree, Type: "bind", Source: source, Options: options}, nil
}

// extraMounts are the spec's own. They are the same for a parent and its children, down to their sources, so gVisor
// adds the same options to them at both ends of a fork. A folder comes before what is mounted in it.
func extraMounts(list []runner.Mount) []specs.Mount {
	var out []specs.Mount
	for _, m := range list {
		access := "rw"
		if m.ReadOnly {
			access = "ro"
		}
		out = append(out, specs.Mount{Destination: m.Target, Type: "bind", Source: m.Source, Options: []string{"rbind", access}})
	}
	slices.SortStableFunc(out, func(a, b specs.Mount) int { return strings.Compare(a.Destination, b.Destination) })
	return out
}

// checkMounts refuses what could not be mounted, before anything is started.
func (e *engine) checkMounts(list []runner.Mount) error {
	for _, m := range list {
		var reason string
		info, err := os.Stat(m.Source)
		switch {
		case !filepath.IsAbs(m.Source) || filepath.Clean(m.Target) != m.Target || !filepath.IsAbs(m.Target) || m.Target == "/":
			reason = fmt.Sprintf("%s cannot be mounted at %s: both must be absolute, and the second not /", m.Source, m.Target)
		case err != nil:
			reason = fmt.Sprintf("%s cannot be mounted: %v", m.Source, err)
		case !info.IsDir():
			reason = m.Source + " cannot be mounted: it is no folder"
		default:
			continue
		}
		return (&runner.Error{Reason: reason, Cause: runner.BackendFailed, Fix: "boxer doctor"}).At(e.scope)
	}
	return nil
}

func isRemote(magic int64) bool {
	return magic == unix.NFS_SUPER_MAGIC || magic == unix.FUSE_SUPER_MAGIC
}

// writeBundle makes the folder that runsc takes a specification from.
func writeBundle(dir string, spec *specs.Spec) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
}
