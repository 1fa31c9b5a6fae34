package smolvm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// The first smolvm whose branch, --from and --branchable have these names.
const needMajor, needMinor = 1, 14

// probeScope labels the machine that a probe starts.
const probeScope = "probe"

// Probe tries what a sandbox needs: the program, its version, its branch command, and a machine that starts as a
// branch source.
func (b *Backend) Probe(ctx context.Context) error {
	p := b.program()
	if err := p.versionFits(ctx); err != nil {
		return err
	}
	// The launcher and what it starts may be of two releases, so the command itself is asked too.
	help, err := p.once(ctx, nil, "machine", "branch", "--help")
	if err != nil {
		return err
	}
	if help.code != 0 || !strings.Contains(help.out, "--from") {
		return (&runner.Error{
			Reason: "this smolvm has no branch command, though its version should have one: parts of two releases are installed",
			Cause:  runner.OtherVersion, Fix: install, Output: runner.LastLines([]byte(help.err)),
		})
	}
	return b.tryMachine(ctx, p)
}

// ProbeOnce is Probe, but what has worked since this machine's boot is not tried again with the same program.
func (b *Backend) ProbeOnce(ctx context.Context) error {
	self, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	path := b.Program
	if path == "" {
		if path, err = exec.LookPath(Kind); err != nil {
			return missing().Because(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	proof := fmt.Sprintf("%s %s %d %s\n", self.Boot, path, info.Size(), info.ModTime().UTC())
	file := filepath.Join(b.dirs.State, "smolvm-works")
	if text, err := os.ReadFile(file); err == nil && string(text) == proof {
		return nil
	}
	if err := b.Probe(ctx); err != nil {
		return err
	}
	os.WriteFile(file, []byte(proof), 0o600) //nolint:errcheck // then it is tried again
	return nil
}

func (b *Backend) tryMachine(ctx context.Context, p program) error {
	name := "boxer-probe-" + strings.ToLower(rand.Text()[:8])
	_, err := p.do(ctx, "machine", "create", "--name", name, "--label", labelScope+"="+probeScope,
		"--label", labelState+"="+b.stateID(), "--mem", "512", "--", "sh", "-c", idle)
	if err != nil {
		return err
	}
	_, err = p.do(ctx, "machine", "start", "--name", name, "--branchable")
	if err != nil {
		err = hypervisor(err)
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	return errors.Join(err, p.remove(undo, name))
}

// hypervisor says more of a machine that does not start where smolvm's own words were none that are known: whether
// the device is there and can be opened.
func hypervisor(err error) error {
	if runtime.GOOS != "linux" || runner.CauseOf(err) != runner.BackendFailed {
		return err
	}
	f, openErr := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	e := &runner.Error{Cause: NoHypervisor}
	switch {
	case openErr == nil:
		f.Close()
		return err
	case errors.Is(openErr, os.ErrPermission):
		e.Reason, e.Fix = "a machine does not start: /dev/kvm may not be opened by this user", kvmGroup
	default:
		e.Reason, e.Fix = "a machine does not start: there is no /dev/kvm", kvmModule
	}
	return e.Because(err)
}

const (
	kvmModule = "sudo modprobe kvm"
	kvmGroup  = `sudo usermod -aG kvm "$USER" && sg kvm -c 'boxer doctor'`
)

var semver = regexp.MustCompile(`^v?(\d+)\.(\d+)\.`)

// versionFits refuses releases whose branch still was a fork.
func (p program) versionFits(ctx context.Context) error {
	out, err := p.do(ctx, "--version")
	if err != nil {
		return err
	}
	words := strings.Fields(out)
	if len(words) == 0 {
		words = []string{"nothing"}
	}
	found := words[len(words)-1]
	m := semver.FindStringSubmatch(found)
	if m == nil {
		return (&runner.Error{
			Reason: fmt.Sprintf("smolvm --version printed no version but %q", strings.TrimSpace(out)), Cause: runner.OtherVersion,
			Fix: install,
		})
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2])
	if major > needMajor || (major == needMajor && minor >= needMinor) {
		return nil
	}
	return (&runner.Error{
		Reason: fmt.Sprintf("smolvm %s is too old: boxer needs %d.%d or newer, whose machines can be branched while they run", found, needMajor, needMinor),
		Cause:  runner.OtherVersion, Fix: install,
	})
}
