//go:build vm && linux

package smolvm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm"
)

// These are the facts about smolvm that boxer relies on or works around and that nobody has established, less those
// that vm_question_test.go asks: what a command that is not found ends with (1), the connections of a guest (2), the
// limit of --stream (3), the pause in a branch (4), locks (6), the clock (7), the words without KVM (8), the size of
// the overlay (9), labels in the API (10), KVM on hosted machines (12).

// What is known ends with release 1.25.4. Has a newer one all that boxer types?
func TestUnverifiedNewerReleases(t *testing.T) {
	ask(t, func(s *subject) {
		s.found("version: %s", s.run("--version"))
		for verb, flags := range map[string][]string{
			"create":   {"--name", "--label", "--volume", "--image", "--cpus", "--mem", "--net"},
			"start":    {"--name", "--branchable"},
			"branch":   {"--from", "--name"},
			"exec":     {"--name", "--interactive", "--tty", "--detach", "--user"},
			"ls":       {"--json"},
			"stop":     {"--name"},
			"delete":   {"--name", "--force", "--cascade"},
			"sync":     {"--name"},
			"data-dir": {"--name"},
		} {
			help := s.run("machine", verb, "--help")
			if help.code != 0 {
				s.breaks("there is no machine %s: %s", verb, help)
			}
			for _, f := range flags {
				if !strings.Contains(help.out, f) {
					s.breaks("machine %s has no %s", verb, f)
				}
			}
		}
		switch err := s.probe(s.dir, s.program); {
		case err == nil:
			s.found("boxer's probe is content")
		case s.must:
			s.breaks("boxer's probe: %v", err)
		default:
			s.cannot("boxer's probe: %v", err)
		}
	})
}

// A command line that is not understood ends with 2, as programs that use clap do. boxer takes it for another version.
func TestUnverifiedExitCodeOfBadFlags(t *testing.T) {
	ask(t, func(s *subject) {
		for _, args := range [][]string{
			{"machine", "ls", "--no-such-flag"},
			{"machine", "no-such-verb"},
			{"machine", "create", "positional"},
			{"machine", "branch", "--name", "without-source"},
			{"machine", "exec", "-n", "boxer-vm-none", "--", "true"},
			{"machine", "exec", "--name", "boxer-vm-none"},
		} {
			r := s.run(args...)
			s.found("%q: %s", args, r)
			if r.code == 0 {
				s.breaks("%q succeeds", args)
			}
		}
	})
}

// One page of smolvm's own documentation has a machine stats, and its source has none.
func TestUnverifiedMachineStats(t *testing.T) {
	ask(t, func(s *subject) {
		s.found("machine stats: %s", s.run("machine", "stats", "--help"))
	})
}

// A section of a Smolfile makes every start one of a branch source; it was called fork once. boxer writes no Smolfile.
func TestUnverifiedSectionOfASmolfile(t *testing.T) {
	ask(t, func(s *subject) {
		for _, section := range []string{"fork", "branch"} {
			file := filepath.Join(s.dir, "Smolfile")
			if err := os.WriteFile(file, []byte("["+section+"]\nenabled = true\n"), 0o644); err != nil {
				s.Fatal(err)
			}
			name := s.newName(section)
			r := s.run("machine", "create", "--name", name, "--smolfile", file)
			s.found("[%s] enabled: %s", section, r)
			if m := s.shown(name); m != nil {
				s.found("[%s] enabled: branchable is %v", section, m["branchable"])
			}
		}
	})
}

// Which durations are understood? boxer passes none: it ends commands by itself.
func TestUnverifiedFractionsOfDurations(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("durations")
		for _, d := range []string{"1s", "500ms", "0.5s", "1.5s", "1", "0s"} {
			r := s.run("machine", "exec", "--name", m, "--timeout", d, "--", "sleep", "20")
			s.found("--timeout %s: %s after %s", d, r, r.took.Round(10*time.Millisecond))
		}
	})
}

// Whoever kills an exec ends its command. And what the command started in a session of its own?
func TestUnverifiedGrandchildrenOfAKilledExec(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("killed")
		l := s.begin(m, `sleep 86411 & setsid sleep 86412 & echo ready; exec sleep 86413`)
		if line, _ := l.line(time.Minute); line != "ready" {
			l.end(0)
			s.cannot("the command says %q and not ready: %s", line, l.errs)
		}
		if err := killGroup(l.Cmd, syscall.SIGKILL); err != nil {
			s.Fatal(err)
		}
		l.end(time.Minute)
		gone := func(mark string) bool {
			return s.within(10*time.Second, func() bool { return strings.TrimSpace(s.sh(m, lives(mark)).out) == "gone" })
		}
		direct := gone("sleep 86413")
		s.found("ten seconds after the kill of exec: the command is gone: %t, its child in the group: %t, the one in a session of its own: %t",
			direct, gone("sleep 86411"), gone("sleep 86412"))
		if !direct {
			s.breaks("a command outlives its exec, so one on a terminal cannot be ended")
		}
	})
}

// There are no figures for Linux on x86_64.
func TestUnverifiedCostOnLinux(t *testing.T) {
	ask(t, func(s *subject) {
		took := map[string][]time.Duration{}
		note := func(what string, r told) { took[what] = append(took[what], r.took) }
		m := s.machine("cost")
		for range 5 {
			child, r := s.branch(m, "cost-child")
			note("branch", r)
			note("first exec in the child", s.needs("machine", "exec", "--name", child, "--", "true"))
			note("exec", s.needs("machine", "exec", "--name", child, "--", "true"))
			note("ls", s.needs("machine", "ls", "--json"))
			note("delete", s.needs("machine", "delete", "--name", child, "--force"))
		}
		for range 3 {
			note("stop", s.needs("machine", "stop", "--name", m))
			note("start", s.needs("machine", "start", "--name", m, "--branchable"))
			s.awake(m)
		}
		for _, what := range []string{"start", "branch", "first exec in the child", "exec", "ls", "delete", "stop"} {
			all := took[what]
			slices.Sort(all)
			s.found("%s: %s in the median, %s to %s", what, all[len(all)/2].Round(time.Millisecond),
				all[0].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
		}
	})
}

// withoutKVM is a smolvm that finds the device in another state than it is.
const withoutKVM = `#!/bin/sh
exec sudo -n unshare -m -- sh -c '
set -e
state=$1 uid=$2 gid=$3
shift 3
case $state in
missing)
	mkdir -p DEVICES
	mount -t tmpfs none DEVICES
	for d in null zero full random urandom tty ptmx pts shm net fuse vhost-vsock; do
		if [ -d /dev/$d ]; then mkdir DEVICES/$d && mount --rbind /dev/$d DEVICES/$d
		elif [ -e /dev/$d ]; then touch DEVICES/$d && mount --bind /dev/$d DEVICES/$d; fi
	done
	ln -s /proc/self/fd DEVICES/fd
	mount --move DEVICES /dev ;;
unreadable)
	mount -t tmpfs none /mnt
	mknod -m 600 /mnt/kvm c 10 232
	mount --bind /mnt/kvm /dev/kvm ;;
esac
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups -- "$@"
' sh STATE "$(id -u)" "$(id -g)" env HOME="$HOME" PATH="$PATH" PROGRAM "$@"
`

// probeWithoutKVM lets boxer look at a smolvm that cannot use KVM.
func (s *subject) probeWithoutKVM(state string) error {
	dir := filepath.Join(s.dir, state)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Fatal(err)
	}
	script := strings.NewReplacer("STATE", state, "PROGRAM", s.program, "DEVICES", filepath.Join(dir, "dev")).Replace(withoutKVM)
	program := filepath.Join(dir, "smolvm")
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		s.Fatal(err)
	}
	return s.probe(dir, program)
}

// probe is what boxer doctor thinks of a smolvm.
func (s *subject) probe(dir, program string) error {
	b := smolvm.New(runner.Dirs{State: filepath.Join(dir, "s"), Runtime: filepath.Join(dir, "r"), Temp: filepath.Join(dir, "t")})
	b.Program, b.Env = program, s.env
	return b.Probe(s.ctx)
}
