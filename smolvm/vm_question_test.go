//go:build vm && linux

package smolvm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/smolvm"
)

// The questions for the first run on a machine with KVM, by their numbers.

// 1. What does a command end with that is not found, and what is said? boxer's own script looks for it first, but the
// shell that runs the script may be missing too.
func TestQuestion01CommandNotFound(t *testing.T) {
	ask(t, func(s *subject) {
		for what, m := range map[string]string{"with an image": s.machine("image"), "without an image": s.start("bare")} {
			for _, mode := range [][]string{nil, {"-i"}, {"--stream"}} {
				for _, program := range []string{"no-such-program-anywhere", "/no/such/program", "/etc/passwd"} {
					args := append(append([]string{"machine", "exec", "--name", m}, mode...), "--", program)
					r := s.run(args...)
					s.found("a machine %s, exec %q of %s: %s", what, mode, program, r)
					switch {
					case r.code == 0:
						s.breaks("%s ran", program)
					case r.code == 1 && !errorLine.MatchString(r.err):
						s.breaks("nothing tells it from a command that ends with 1: %s", r)
					}
				}
			}
		}
	})
}

// 2. How many connections does a guest take at once? boxer needs seven: five for commands, two for what it does itself.
func TestQuestion02ConnectionsOfAGuest(t *testing.T) {
	const needed, tried = 7, 16
	ask(t, func(s *subject) {
		m := s.machine("connections")
		var all []*live
		defer func() {
			for _, l := range all {
				killGroup(l.Cmd, syscall.SIGKILL) //nolint:errcheck // ended already
				l.end(time.Second)
			}
		}()
		in := 0
		for range tried {
			l := s.begin(m, "echo in; exec sleep 600")
			all = append(all, l)
			line, _ := l.line(5 * time.Second)
			if line != "in" {
				break
			}
			in++
		}
		s.found("%d commands run at once, of %d that were tried", in, tried)
		s.found("meanwhile the machine is %v", s.shown(m)["state"])
		if in < needed {
			s.breaks("boxer runs up to %d at once", needed)
		}
	})
}

// 3. How much may a command write? boxer's commands have -i, and its own short questions have neither flag.
func TestQuestion03OutputOfACommand(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("output")
		for _, mode := range []string{"", "--stream", "-i"} {
			for _, mib := range []int{1, 10, 12, 32, 100} {
				args := []string{"machine", "exec", "--name", m}
				if mode != "" {
					args = append(args, mode)
				}
				r := s.run(append(args, "--", "/bin/sh", "-c", fmt.Sprintf("head -c %d /dev/zero", mib<<20))...)
				all := len(r.out) == mib<<20 && r.code == 0
				s.found("exec %s of %d MiB: exit code %d, %d bytes, stderr %q, %s", mode, mib, r.code, len(r.out), brief(r.err), r.took.Round(time.Millisecond))
				if !all && (mode == "-i" || mib == 1) {
					s.breaks("%d MiB do not come out of exec %s", mib, mode)
				}
				if !all {
					break
				}
			}
		}
	})
}

// 4. For how long does a source stand still while it is branched?
func TestQuestion04PauseInABranch(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("pause")
		s.sh(m, "mkdir -p /tmp/filled && head -c 100000000 /dev/zero >/tmp/filled/f") // some memory to capture
		l := s.begin(m, "while :; do echo tick; sleep 0.01; done")
		defer l.end(0)
		widest := func(limit time.Duration, until func() bool) (gap time.Duration) {
			last := time.Now()
			for end := last.Add(limit); time.Now().Before(end) && !until(); {
				if _, ok := l.line(limit); !ok {
					s.breaks("a command in the source ends while it is branched: %s", l.errs)
					return gap
				}
				now := time.Now()
				gap, last = max(gap, now.Sub(last)), now
			}
			return gap
		}
		if _, ok := l.line(time.Minute); !ok {
			s.cannot("nothing ticks: %s", l.errs)
		}
		s.found("the longest pause without a branch: %s", widest(2*time.Second, func() bool { return false }).Round(time.Millisecond))
		for i := range 3 {
			c := s.command("machine", "branch", "--from", m, "--name", s.newName("pause-child"+strconv.Itoa(i)))
			done, began := make(chan struct{}), time.Now()
			if err := c.Start(); err != nil {
				s.Fatal(err)
			}
			go func() {
				defer close(done)
				c.Wait() //nolint:errcheck // the process state has it all
			}()
			gap := widest(time.Minute, func() bool {
				select {
				case <-done:
					return true
				default:
					return false
				}
			})
			<-done
			s.found("the longest pause in a branch: %s (%s in all, exit code %d)", gap.Round(time.Millisecond),
				time.Since(began).Round(time.Millisecond), c.ProcessState.ExitCode())
		}
	})
}

// 5. Does a signal to the program that runs a command give the command time to end?
func TestQuestion05GraceAfterASignal(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("grace")
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
			note := fmt.Sprintf("/tmp/asked-%d", sig)
			l := s.begin(m, fmt.Sprintf(`for s in TERM INT HUP; do trap "echo $s >>%s" $s; done; echo ready; while :; do sleep 0.02; : mark-86421-%d; done`, note, sig))
			if line, _ := l.line(time.Minute); line != "ready" {
				l.end(0)
				s.cannot("the command says %q and not ready: %s", line, l.errs)
			}
			began := time.Now()
			if err := killGroup(l.Cmd, sig); err != nil {
				s.Fatal(err)
			}
			hastened := l.end(5 * time.Second)
			s.found("%s: exec itself ended within five seconds: %t (%s, exit code %d)", sig, !hastened,
				time.Since(began).Round(time.Millisecond), l.ProcessState.ExitCode())
			gone := s.within(10*time.Second, func() bool { return strings.TrimSpace(s.sh(m, lives(fmt.Sprintf("mark-86421-%d", sig))).out) == "gone" })
			s.found("%s: the command is gone: %t, and the signals it got are %q", sig, gone, strings.Fields(s.sh(m, "cat "+note).out))
			if !gone {
				s.breaks("a command outlives its exec after %s", sig)
			}
		}
	})
}

// flockLine and fcntlLine try to lock a file, and tell whether they could.
const (
	flockLine = `flock -n %[1]s true && echo free || echo locked`
	fcntlLine = `command -v perl >/dev/null || { echo no perl; exit; }
perl -MFcntl -e 'open(F, "+<", "%[1]s") or die $!; $l = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0); print fcntl(F, F_SETLK, $l) ? "free\n" : "locked\n"'`
	holdFlock = `exec 9<>%[1]s; flock -n 9 && echo held; exec sleep 600`
	holdFcntl = `exec perl -MFcntl -e '$| = 1; open(F, "+<", "%[1]s") or die $!; $l = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0); print fcntl(F, F_SETLK, $l) ? "held\n" : "locked\n"; sleep 600'`
)

// 6. Do two children and the host see each other's locks on a mount they share? boxer itself locks nothing there.
func TestQuestion06LocksOnASharedMount(t *testing.T) {
	ask(t, func(s *subject) {
		dir := filepath.Join(s.dir, "mount")
		file := filepath.Join(dir, "lock")
		if err := os.Mkdir(dir, 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			s.Fatal(err)
		}
		m := s.machine("locks", "-v", dir+":"+dir)
		one, _ := s.branch(m, "locks-1")
		two, _ := s.branch(m, "locks-2")
		for _, kind := range []struct{ name, hold, try string }{{"flock", holdFlock, flockLine}, {"fcntl", holdFcntl, fcntlLine}} {
			try := fmt.Sprintf(kind.try, file)
			held := func(in string, begin func() *live) {
				l := begin()
				defer l.end(0)
				if line, _ := l.line(10 * time.Second); line != "held" {
					s.found("%s: %s cannot take the lock: %q, %s", kind.name, in, line, l.errs)
					return
				}
				host, _ := exec.CommandContext(s.ctx, "/bin/sh", "-c", try).Output() // what fails shows as no word
				s.found("%s held by %s: for the first child it is %q, for the second %q, for the host %q", kind.name, in,
					strings.TrimSpace(s.sh(one, try).out), strings.TrimSpace(s.sh(two, try).out), strings.TrimSpace(string(host)))
			}
			hold := fmt.Sprintf(kind.hold, file)
			held("the first child", func() *live { return s.begin(one, hold) })
			held("the host", func() *live { return s.beginHere(hold) })
		}
	})
}

// beginHere is begin on the host.
func (s *subject) beginHere(line string) *live {
	here := *s
	here.program = filepath.Join(s.dir, "here")
	if err := os.WriteFile(here.program, []byte("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"), 0o755); err != nil {
		s.Fatal(err)
	}
	return here.begin("", line)
}

// 7. What time is it in a child of a source that has run for a while, and are certificates valid there?
func TestQuestion07ClockOfAChild(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("clock")
		off := func(name string) float64 {
			before := time.Now()
			r := s.sh(name, "date +%s.%N")
			after := time.Now()
			seconds, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(r.out), ".%N"), 64)
			if err != nil {
				s.cannot("no time: %s", r)
			}
			middle := before.Add(after.Sub(before) / 2)
			return seconds - float64(middle.UnixNano())/1e9
		}
		s.found("the source is off by %.3f s at its start", off(m))
		age := 30 * time.Second
		if !s.must {
			age = 2 * time.Second
		}
		time.Sleep(age) // the age itself is what is asked about
		s.found("and by %.3f s after %s", off(m), age)
		child, _ := s.branch(m, "clock-child")
		first := off(child)
		time.Sleep(age / 3)
		s.found("its child is off by %.3f s at once, and by %.3f s after %s", first, off(child), age/3)
		s.found("so a certificate that is valid here is valid there, if it is not younger or closer to its end than that: %t", math.Abs(first) < 60)
		s.found("TLS: %s", s.sh(child, `if command -v curl >/dev/null; then curl -sS -o /dev/null -w '%{http_code}' https://example.com; else echo the image has no curl; fi`))
		uptime := func(name string) string { return strings.TrimSpace(s.sh(name, "cut -d' ' -f1 /proc/uptime").out) }
		s.found("seconds since the boot: source %s, child %s", uptime(m), uptime(child))
	})
}

// 8. What is said where KVM is missing, or may not be opened?
func TestQuestion08WordsWithoutKVM(t *testing.T) {
	s := theReal(t)
	if out, err := exec.CommandContext(s.ctx, "sudo", "-n", "unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("a look at smolvm without KVM needs a sudo that asks for no password, to hide the device: %v\n%s", err, out)
	}
	for _, state := range []string{"missing", "unreadable"} {
		err := s.probeWithoutKVM(state)
		s.found("/dev/kvm is %s: %v", state, err)
		e, ok := errors.AsType[*runner.Error](err)
		switch {
		case err == nil:
			s.breaks("the probe passes where /dev/kvm is %s", state)
		case !ok:
			s.breaks("where /dev/kvm is %s there is no fix", state)
		default:
			// Words that boxer does not know are no break: it looks at the device itself then, which is there in this test.
			s.found("boxer knows these words: %t; cause %s, fix %q, output %q", e.Cause == smolvm.NoHypervisor, e.Cause, e.Fix, e.Output)
		}
	}
}

// 9. How big is the overlay of a machine that asks for none?
func TestQuestion09OverlayByDefault(t *testing.T) {
	ask(t, func(s *subject) {
		name := s.newName("overlay")
		s.needs("machine", "create", "--name", name)
		m := s.shown(name)
		s.found("overlay_gb %v, storage_gb %v, memory_mib %v, cpus %v", m["overlay_gb"], m["storage_gb"], m["memory_mib"], m["cpus"])
		s.found("df in a started one: %s", s.sh(s.machine("overlay-started"), "df -k / /tmp"))
	})
}

// 10. Does the API take labels? boxer does not use it.
func TestQuestion10LabelsInTheAPI(t *testing.T) {
	s := theReal(t) // the stand-in has no API
	socket := filepath.Join(s.dir, "api.sock")
	serve := s.command("serve", "start", "--listen", "unix://"+socket)
	var words bytes.Buffer
	serve.Stdout, serve.Stderr = &words, &words
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	defer func() {
		killGroup(serve, syscall.SIGTERM) //nolint:errcheck // ended already
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			killGroup(serve, syscall.SIGKILL) //nolint:errcheck // ended just now
			<-ended
		}
		s.found("serve said: %s", brief(words.String()))
	}()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	if !s.within(20*time.Second, func() bool { _, err := os.Stat(socket); return err == nil }) {
		s.found("the server does not come up")
		return
	}
	name := s.newName("api")
	body, err := json.Marshal(map[string]any{"name": name, "labels": map[string]string{"boxer.scope": "asked"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Post("http://smolvm/api/v1/machines", "application/json", bytes.NewReader(body))
	if err != nil {
		s.found("POST: %v", err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // what is missing shows
	s.found("POST with labels: %s, %s", answer.Status, brief(string(text)))
	if m := s.shown(name); m != nil {
		s.found("the machine's labels: %v", m["labels"])
	}
}

// 11. What does a branch leave that is killed on its way?
func TestQuestion11LeftoversOfAKilledBranch(t *testing.T) {
	ask(t, func(s *subject) {
		m := s.machine("leftovers")
		for _, after := range []time.Duration{5, 20, 50, 100, 150, 200, 300, 500} {
			after *= time.Millisecond
			child := s.newName("cut-off")
			c := s.command("machine", "branch", "--from", m, "--name", child)
			if err := c.Start(); err != nil {
				s.Fatal(err)
			}
			t := time.AfterFunc(after, func() { killGroup(c, syscall.SIGKILL) }) //nolint:errcheck // ended already
			err := c.Wait()
			t.Stop()
			record := s.shown(child)
			if record != nil {
				s.found("killed after %s (%v): ls has it as %v with the parent %v, pid %v", after, err, record["state"], record["parent_machine"], record["pid"])
				if labels, _ := record["labels"].(map[string]any); labels == nil {
					s.breaks("it has no labels, so boxer does not find it")
				}
			} else {
				s.found("killed after %s (%v): ls does not have it", after, err)
			}
			s.found("data-dir: %s", s.run("machine", "data-dir", "--name", child))
			s.found("the source's state is %v", s.shown(m)["state"])
			if r := s.sh(m, "echo yes"); r.out != "yes\n" {
				s.breaks("the source runs no command any more: %s", r)
			}
			r := s.run("machine", "delete", "--name", child, "--force", "--cascade")
			if r.code != 0 && !strings.Contains(r.err, "not found") {
				s.breaks("it cannot be deleted: %s", r)
			}
			if r := s.run("machine", "branch", "--from", m, "--name", child); r.code != 0 {
				s.breaks("its name cannot be used again: %s", r)
			}
			s.drop(child)
		}
	})
}

// 12. Which hosted machines have KVM? Each run answers for the machine it is on.
func TestQuestion12KVMOnHostedMachines(t *testing.T) {
	s := newSubject(t, "this machine", "")
	s.found("%s/%s, RUNNER_NAME %q, RUNNER_ENVIRONMENT %q, ImageOS %q, ImageVersion %q, GITLAB_CI %q, CI_RUNNER_DESCRIPTION %q", runtime.GOOS, runtime.GOARCH,
		os.Getenv("RUNNER_NAME"), os.Getenv("RUNNER_ENVIRONMENT"), os.Getenv("ImageOS"), os.Getenv("ImageVersion"), os.Getenv("GITLAB_CI"), os.Getenv("CI_RUNNER_DESCRIPTION"))
	info, err := os.Stat("/dev/kvm")
	if err != nil {
		s.found("no KVM: %v", err)
		return
	}
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	s.found("/dev/kvm is %s, and opening it gives %v", info.Mode(), err)
}
