//go:build linux

package boxer_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// system stands for a CI system: how it starts the script of a job, and with which signals it cancels one. Neither act
// nor gitlab-ci-local can be asked that: they kill at once, or not at all.
type system struct {
	name string
	uid  int      // whom its runners mostly are
	env  []string // what it sets
	// start runs a shell line as the script of a job that belongs to p.
	start func(t *testing.T, p *person, line string) *job
	// cancel cancels it.
	cancel func(t *testing.T, j *job) outcome
}

// outcome is how a cancellation went.
type outcome struct {
	sent   []syscall.Signal // all that the system had to send
	signal syscall.Signal   // the one that boxer is to have got
	code   int              // of the process that the system started
}

// job is one under way.
type job struct {
	process *os.Process
	out     *output
	state   *os.ProcessState // once ended is closed
	ended   chan struct{}    // closed when its first process is gone and nobody holds its output any more
}

// running follows a started command to its end, and to that of what copies its output where exec does not do that.
func running(t *testing.T, c *exec.Cmd, out *output, copied <-chan struct{}) *job {
	t.Helper()
	j := &job{process: c.Process, out: out, ended: make(chan struct{})}
	go func() {
		c.Wait() //nolint:errcheck // the state says it
		if copied != nil {
			<-copied
		}
		j.state = c.ProcessState
		close(j.ended)
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		select {
		case <-j.ended:
		case <-time.After(10 * time.Second): // what outlives it holds the output: the test has said so
		}
	})
	return j
}

// step is a signal, and how long the system waits before it takes the next step.
type step struct {
	signal syscall.Signal
	wait   time.Duration
}

// steps takes one step after the other until the job has ended.
func (j *job) steps(t *testing.T, send func(os.Signal) error, steps ...step) outcome {
	t.Helper()
	o := outcome{signal: steps[0].signal}
	for _, s := range steps {
		o.sent = append(o.sent, s.signal)
		if err := send(s.signal); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: %v", s.signal, err)
		}
		select {
		case <-j.ended:
			o.code = j.state.ExitCode()
			return o
		case <-time.After(s.wait):
		}
	}
	t.Fatalf("the job outlives %v\n%s", o.sent, j.out)
	return o
}

// group sends to the process group of the job.
func (j *job) group(s os.Signal) error { return syscall.Kill(-j.process.Pid, s.(syscall.Signal)) }

// piped starts a command whose standard input is /dev/null and whose output are pipes.
func piped(t *testing.T, c *exec.Cmd, group bool) *job {
	t.Helper()
	out := &output{}
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr.Setpgid = group
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return running(t, c, out, nil)
}

// soon is when GitHub, the least patient of all, sends its second signal. GitLab's shell would wait ten minutes.
const soon = 7500 * time.Millisecond

// github runs the script in a bash that is in no group of its own, and signals that process alone.
var github = system{
	name: "github", uid: ordinary, env: []string{"CI=true", "GITHUB_ACTIONS=true"},
	start: func(t *testing.T, p *person, line string) *job {
		p.write("step.sh", "exec "+line)
		return piped(t, p.command("env", "--default-signal", "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "step.sh"), false)
	},
	cancel: func(t *testing.T, j *job) outcome {
		return j.steps(t, j.process.Signal,
			step{syscall.SIGINT, soon}, step{syscall.SIGTERM, 2500 * time.Millisecond}, step{syscall.SIGKILL, time.Minute})
	},
}

// gitlabScript is the form that GitLab's runner gives the script of a job.
func gitlabScript(line string) string {
	return "set -o pipefail\nset -o errexit\n(trap 'exit 1' TERM; eval " + quoted(line) + ") </dev/null\n"
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// gitlabShell runs it in a login shell with a group of its own, and signals the group.
var gitlabShell = system{
	name: "gitlab-shell", uid: ordinary, env: []string{"CI=true", "GITLAB_CI=true"},
	start: func(t *testing.T, p *person, line string) *job {
		c := p.command("env", "--default-signal", "bash", "-l")
		c.Stdin = strings.NewReader(gitlabScript(line))
		return piped(t, c, true)
	},
	cancel: func(t *testing.T, j *job) outcome {
		return j.steps(t, j.group, step{syscall.SIGTERM, soon}, step{syscall.SIGKILL, time.Minute})
	},
}

// walk is what GitLab does in the container of a job: SIGTERM to one process after the other, the youngest first, with
// up to six seconds for each to go, and ten for all.
const walk = `exec 2>/dev/null
for pid in $(ls /proc | grep -x '[0-9]*' | sort -rn); do
	[ "$pid" != $$ ] && kill -TERM "$pid" || continue
	i=0
	while kill -0 "$pid" && [ $i -lt 60 ]; do sleep 0.1; i=$((i+1)); done
done`

// gitlabDocker runs it as the first process of a PID namespace, walks over the processes there, and then stops the
// container as `docker stop` does: SIGTERM and SIGKILL to the first process.
var gitlabDocker = system{
	name: "gitlab-docker", uid: 0, env: []string{"CI=true", "GITLAB_CI=true"},
	start: func(t *testing.T, p *person, line string) *job {
		args := []string{"env", "--default-signal", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"}
		if p.uid != 0 {
			args = append(args[:3:3], append([]string{"--user", "--map-root-user"}, args[3:]...)...)
		}
		c := p.command(args...)
		c.Stdin = strings.NewReader(gitlabScript(line))
		return piped(t, c, true)
	},
	cancel: func(t *testing.T, j *job) outcome {
		first := firstInside(t, j)
		walker := exec.Command("timeout", "10", "nsenter", "--target", strconv.Itoa(first), "--user", "--preserve-credentials", "--pid", "--mount", "sh", "-c", walk)
		if os.Getuid() == 0 {
			walker.Args = append(walker.Args[:5:5], walker.Args[7:]...)
		}
		walker.Run() //nolint:errcheck // it ends itself, or at its limit
		stop, err := os.FindProcess(first)
		if err != nil {
			t.Fatal(err)
		}
		o := j.steps(t, stop.Signal, step{syscall.SIGTERM, 10 * time.Second}, step{syscall.SIGKILL, time.Minute})
		return o
	},
}

// firstInside is the number, out here, of the first process of the job's PID namespace.
func firstInside(t *testing.T, j *job) int {
	t.Helper()
	pid := strconv.Itoa(j.process.Pid)
	b, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("the children of unshare are %q", b)
	}
	return first
}

// buildkite gives the job a terminal, and signals its group.
var buildkite = system{
	name: "buildkite", uid: ordinary, env: []string{"CI=true", "BUILDKITE=true", "TERM=xterm-256color"},
	start: func(t *testing.T, p *person, line string) *job {
		c := p.command("env", "--default-signal", "bash", "-e", "-c", line)
		c.SysProcAttr.Setpgid, c.SysProcAttr.Setsid, c.SysProcAttr.Setctty = false, true, true
		terminal, err := pty.StartWithAttrs(c, &pty.Winsize{Rows: 24, Cols: 80}, c.SysProcAttr)
		if err != nil {
			t.Fatal(err)
		}
		out := &output{}
		copied := make(chan struct{})
		go func() {
			io.Copy(out, terminal) //nolint:errcheck // a terminal that nobody holds any more gives EIO
			terminal.Close()
			close(copied)
		}()
		return running(t, c, out, copied)
	},
	cancel: func(t *testing.T, j *job) outcome {
		return j.steps(t, j.group, step{syscall.SIGTERM, soon}, step{syscall.SIGKILL, time.Minute})
	},
}
