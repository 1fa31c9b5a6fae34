package ci_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// private starts host.sh as an ordinary user in a mount namespace whose /dev has a kvm that this user cannot open and,
// as its owner, can chmod: so the stand-in for sudo needs no rights.
const private = `
set -e
mkdir dev
touch dev/kvm dev/null
chmod 0 dev/kvm
chown 12345 dev/kvm . calls
mount --bind /dev/null dev/null
mount --rbind dev /dev
exec setpriv --reuid 12345 --regid 12345 --clear-groups "$0"
`

// TestHost: what host.sh lifts with sudo, that it does no more than is needed, and that it never fails.
func TestHost(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("it makes a /dev of its own, for which it has to be root")
	}
	host, err := filepath.Abs("../.github/action/host.sh")
	if err != nil {
		t.Fatal(err)
	}
	const (
		sudo       = `echo "$*" >>calls; shift; [ "$1" != tee ] || { cat >>calls; exit 0; }; exec "$@"`
		asks       = `echo "sudo: a password is required" >&2; exit 1`
		restricted = `case $* in "-n kernel."*) echo 1;; esac`
		userns     = "-n sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
		rule       = `KERNEL=="kvm", GROUP="kvm", MODE="0666", OPTIONS+="static_node=kvm"` + "\n"
		kvm        = "-n tee /etc/udev/rules.d/99-boxer-kvm.rules\n" + rule +
			"-n udevadm control --reload-rules\n-n udevadm trigger --name-match=kvm\n-n udevadm settle\n"
		chmod = "-n chmod 0666 /dev/kvm\n"
	)
	for _, row := range []struct {
		name     string
		backend  string
		programs map[string]string
		calls    string // of sudo
		warns    string // "" for no warning
	}{
		{"user namespaces are refused", "", map[string]string{"sudo": sudo, "sysctl": restricted, "unshare": "exit 1"}, userns, ""},
		{"for gvisor as well", "gvisor", map[string]string{"sudo": sudo, "sysctl": restricted, "unshare": "exit 1"}, userns, ""},
		{"nobody asked for a sandbox", "host", map[string]string{"sudo": sudo, "sysctl": restricted, "unshare": "exit 1"}, "", ""},
		{"they work all the same", "", map[string]string{"sudo": sudo, "sysctl": restricted, "unshare": ""}, "", ""},
		{"it is not AppArmor", "", map[string]string{"sudo": sudo, "sysctl": "exit 1", "unshare": "exit 1"}, "", ""},
		{"there is no sudo", "", map[string]string{"sysctl": restricted, "unshare": "exit 1"}, "", "AppArmor keeps user namespaces"},
		{"sudo asks", "", map[string]string{"sudo": asks, "sysctl": restricted, "unshare": "exit 1"}, "", "AppArmor keeps user namespaces"},
		{"smolvm is there", "auto", map[string]string{"sudo": sudo, "smolvm": "", "udevadm": `[ "$1" != trigger ] || chmod 666 /dev/kvm`}, kvm, ""},
		{"smolvm is asked for", "smolvm", map[string]string{"sudo": sudo, "udevadm": ""}, kvm + chmod, ""},
		{"there is no udev", "smolvm", map[string]string{"sudo": sudo}, chmod, ""},
		{"smolvm is not there", "", map[string]string{"sudo": sudo, "udevadm": ""}, "", ""},
		{"smolvm without sudo", "smolvm", map[string]string{}, "", "/dev/kvm cannot be opened"},
		{"smolvm, and sudo asks", "smolvm", map[string]string{"sudo": asks, "udevadm": ""}, "", "/dev/kvm cannot be opened"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "bxh") // an ordinary user can go there
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "bin"), 0o755)); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "calls"), "")
			for name, script := range row.programs {
				writeFile(t, filepath.Join(dir, "bin", name), "#!/bin/bash\n"+script+"\n")
			}
			for _, name := range []string{"bash", "cat", "chmod", "chown", "id", "mkdir", "mount", "setpriv", "touch", "uname", "tee"} {
				path, err := exec.LookPath(name)
				if err == nil {
					err = os.Symlink(path, filepath.Join(dir, "bin", name))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			script, err := os.ReadFile(host)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "host.sh"), string(script))
			c := exec.Command("unshare", "--mount", "bash", "-c", private, filepath.Join(dir, "host.sh"))
			c.Dir, c.Env = dir, []string{"PATH=" + filepath.Join(dir, "bin"), "INPUT_BACKEND=" + row.backend}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil || string(calls) != row.calls {
				t.Errorf("%v: sudo was called for\n%swant\n%s", err, calls, row.calls)
			}
			warned := strings.Contains(string(out), "::warning title=boxer::"+row.warns)
			if warned != (row.warns != "") {
				t.Errorf("it prints\n%s", out)
			}
		})
	}
}
