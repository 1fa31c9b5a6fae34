//go:build vm && linux

package smolvm_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests with the tag vm put questions to the real smolvm that nothing but a machine with KVM can answer, and the
// same ones to the stand-in, so that a difference shows. Each prints its answers as lines that begin with FOUND. One
// fails only where boxer would not survive the answer.
//
//	go test -tags vm -run 'ConformanceOfSmolvm|Unverified|Question' -v ./smolvm
//
// Variables: SMOLVM_VM_IMAGE is the image of the machines, which needs a shell and the usual small tools;
// SMOLVM_VM_REQUIRED=1 makes a missing smolvm or KVM a failure and not a skip.

const vmMemory = 1024 // MiB: smolvm's own default is more than a hosted CI runner has

func vmImage() string {
	if image := os.Getenv("SMOLVM_VM_IMAGE"); image != "" {
		return image
	}
	return "debian:12-slim" // from busy addresses it needs a mirror: SMOLVM_VM_IMAGE names it
}

// subject is the one who is asked.
type subject struct {
	*testing.T
	ctx     context.Context
	name    string
	program string
	dir     string
	env     []string
	must    bool // what it cannot do is a failure; else the question is skipped
}

// ask puts one question to both, one after the other: some measure time.
func ask(t *testing.T, question func(*subject)) {
	t.Run("smolvm", func(t *testing.T) { question(theReal(t)) })
	t.Run("stand-in", func(t *testing.T) { question(theStandIn(t)) })
}

// theReal is the smolvm on PATH.
func theReal(t *testing.T) *subject {
	t.Helper()
	lacks := func(what string) {
		t.Helper()
		if os.Getenv("SMOLVM_VM_REQUIRED") != "" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	program, err := exec.LookPath("smolvm")
	if err != nil {
		lacks("there is no smolvm on PATH; to get it: curl -sSL https://smolmachines.com/install.sh | bash")
	}
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		lacks(fmt.Sprintf("no KVM: %v; to get it: sudo modprobe kvm, and a user who may open /dev/kvm", err))
	} else {
		kvm.Close()
	}
	s := newSubject(t, "smolvm", program)
	s.env, s.must = os.Environ(), true
	return s
}

func theStandIn(t *testing.T) *subject {
	t.Helper()
	s := newSubject(t, "the stand-in", standIn)
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "SMOLVM_DATA_DIR=" + filepath.Join(s.dir, "d")}
	return s
}

func newSubject(t *testing.T, name, program string) *subject {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "bv")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	s := &subject{T: t, ctx: ctx, name: name, program: program, dir: dir}
	t.Cleanup(func() {
		cancel()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// found prints one answer.
func (s *subject) found(format string, a ...any) {
	s.Helper()
	s.Logf("FOUND: %s: %s", s.name, fmt.Sprintf(format, a...))
}

// breaks is for an answer that boxer does not survive.
func (s *subject) breaks(format string, a ...any) {
	s.Helper()
	s.Errorf("FOUND, and boxer breaks on it: %s: %s", s.name, fmt.Sprintf(format, a...))
}

// cannot ends a question that could not be asked.
func (s *subject) cannot(format string, a ...any) {
	s.Helper()
	if s.must {
		s.Fatalf(format, a...)
	}
	s.Skipf("%s: %s", s.name, fmt.Sprintf(format, a...))
}

// told is what a call came to.
type told struct {
	out, err string
	code     int // -1 for a call that a signal ended
	took     time.Duration
}

func (r told) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", r.code, brief(r.out), brief(r.err))
}

// brief leaves out the middle of what is long.
func brief(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	return text[:most/2] + fmt.Sprintf(" [%d bytes] ", len(text)-most) + text[len(text)-most/2:]
}

// command is a call in a process group of its own.
func (s *subject) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(s.ctx, s.program, args...)
	c.Env, c.Dir, c.SysProcAttr, c.WaitDelay = s.env, s.dir, &syscall.SysProcAttr{Setpgid: true}, time.Second
	c.Cancel = func() error { return killGroup(c, syscall.SIGKILL) }
	return c
}

func killGroup(c *exec.Cmd, sig syscall.Signal) error { return syscall.Kill(-c.Process.Pid, sig) }

// run is a call to its end. Its output goes to files: a machine's process may inherit it.
func (s *subject) run(args ...string) told {
	s.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(s.dir, "out")
		if err != nil {
			s.Fatal(err)
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	c := s.command(args...)
	c.Stdout, c.Stderr = files[0], files[1]
	began := time.Now()
	err := c.Run()
	took := time.Since(began)
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.Fatalf("%q: %v", args, err)
	}
	var texts [2]string
	for i, f := range files {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			s.Fatal(err)
		}
		texts[i] = string(b)
	}
	return told{texts[0], texts[1], c.ProcessState.ExitCode(), took}
}

// needs is run for a call that the question rests on.
func (s *subject) needs(args ...string) told {
	s.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.cannot("%q: %s", args, r)
	}
	return r
}

// newName is one that no other machine has, and that is deleted at the end.
func (s *subject) newName(what string) string {
	name := "boxer-vm-" + strings.ToLower(rand.Text()[:8]) + "-" + what
	s.Cleanup(func() { s.drop(name) }) // children come after their parents, and so go before them
	return name
}

// machine makes one with the image, and starts it as a branch source.
func (s *subject) machine(what string, flags ...string) string {
	s.Helper()
	return s.start(what, append([]string{"--image", vmImage(), "--net"}, flags...)...)
}

// start makes a machine of these flags alone, and waits until it runs commands.
func (s *subject) start(what string, flags ...string) string {
	s.Helper()
	name := s.newName(what)
	create := append([]string{"machine", "create", "--name", name, "--mem", fmt.Sprint(vmMemory)}, flags...)
	s.needs(append(create, "--", "sh", "-c", "while :; do sleep 3600; done")...)
	s.needs("machine", "start", "--name", name, "--branchable")
	s.awake(name)
	return name
}

func (s *subject) awake(name string) {
	s.Helper()
	var last told
	if !s.within(time.Minute, func() bool {
		last = s.sh(name, "echo awake")
		return last.out == "awake\n"
	}) {
		s.cannot("%s runs no command: %s", name, last)
	}
}

// branch makes a child.
func (s *subject) branch(source, what string) (string, told) {
	s.Helper()
	name := s.newName(what)
	return name, s.needs("machine", "branch", "--from", source, "--name", name)
}

// sh runs a line in a machine.
func (s *subject) sh(name, line string) told {
	s.Helper()
	return s.run("machine", "exec", "--name", name, "--", "/bin/sh", "-c", line)
}

// drop deletes a machine that may be gone already.
func (s *subject) drop(name string) {
	s.Helper()
	r := s.run("machine", "delete", "--name", name, "--force", "--cascade")
	if r.code != 0 && !strings.Contains(r.err, "not found") {
		s.Errorf("%s is left: %s", name, r)
	}
}

// shown is the machine as ls --json tells it, nil if it does not.
func (s *subject) shown(name string) map[string]any {
	s.Helper()
	var all []map[string]any
	r := s.needs("machine", "ls", "--json")
	if err := json.Unmarshal([]byte(r.out), &all); err != nil {
		s.breaks("machine ls --json prints no list: %v: %s", err, r)
	}
	for _, m := range all {
		if m["name"] == name {
			return m
		}
	}
	return nil
}

func (s *subject) within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// live is an exec -i under way.
type live struct {
	*exec.Cmd
	lines chan string // its stdout, closed at its end
	errs  *strings.Builder
	stdin io.Closer
}

// begin starts a line in a machine with its streams open, as boxer starts all commands.
func (s *subject) begin(name, line string) *live {
	s.Helper()
	l := &live{Cmd: s.command("machine", "exec", "--name", name, "-i", "--", "/bin/sh", "-c", line), lines: make(chan string, 1<<16)}
	l.errs = &strings.Builder{}
	l.Stderr = l.errs
	in, err := l.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	l.stdin = in
	out, err := l.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := l.Start(); err != nil {
		s.Fatal(err)
	}
	go func() {
		defer close(l.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.lines <- lines.Text()
		}
	}()
	return l
}

// line waits for the next one; ok is false at the end and when it takes too long.
func (l *live) line(limit time.Duration) (text string, ok bool) {
	select {
	case text, ok = <-l.lines:
		return text, ok
	case <-time.After(limit):
		return "", false
	}
}

// end waits for the end, and hastens it after the limit. It tells whether that was needed.
func (l *live) end(limit time.Duration) (hastened bool) {
	t := time.AfterFunc(limit, func() { killGroup(l.Cmd, syscall.SIGKILL) }) //nolint:errcheck // ended already
	for range l.lines {
	}
	l.Wait() //nolint:errcheck // the process state has it all
	return !t.Stop()
}

// errorLine is how boxer finds smolvm's own words.
var errorLine = regexp.MustCompile(`(?m)^Error: `)

// lives is a shell line that tells whether any process in the machine has the mark among its arguments.
func lives(mark string) string {
	// The line itself has the mark only in two halves.
	half := len(mark) / 2
	return fmt.Sprintf(`m='%s'; m="$m"'%s'; for f in /proc/[0-9]*/cmdline; do if tr '\0' ' ' <$f 2>/dev/null | grep -q "$m"; then echo lives; exit; fi; done; echo gone`,
		mark[:half], mark[half:])
}
