//go:build linux

package boxer_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// sleepers is a command of each shard that writes a report and then sleeps.
const sleepers = `sh -c 'mkdir -p r; echo "<testsuite name=\"s{i}\"><testcase classname=\"s{i}\" name=\"before\"/></testsuite>" >r/{i}.xml; echo asleep; exec sleep 1000'`

// before is in the report of each of them.
const before = `name="before"`

// TestCancelledByCI: whichever system cancels a job, boxer ends within the patience of the first signal, with the code of
// that signal, with its report and outputs written, and nothing of it left.
func TestCancelledByCI(t *testing.T) {
	t.Parallel()
	for _, s := range []system{github, gitlabShell, gitlabDocker, buildkite} {
		for _, backend := range []string{"gvisor", "host"} {
			t.Run(s.name+"/"+backend, func(t *testing.T) {
				t.Parallel()
				p := newRunner(t, s)
				j := s.start(t, p, p.sleepLine(backend))
				p.asleep(j)
				o := s.cancel(t, j)
				if len(o.sent) > 1 {
					t.Errorf("it had to send %v\n%s", o.sent, j.out)
				}
				code := 128 + int(o.signal)
				if s.name == "github" && o.code != code {
					t.Errorf("exit code %d, want %d\n%s", o.code, code, j.out)
				}
				p.wrote(code, before, j.out)
				p.gone(j.out)
			})
		}
	}
}

// newRunner is who runs the jobs of a CI system.
func newRunner(t *testing.T, s system) *person {
	t.Helper()
	uid := s.uid
	if os.Getuid() != 0 {
		uid = os.Getuid()
	}
	p := newPerson(t, uid, "")
	p.env = append(p.env, s.env...)
	p.env = append(p.env, "GITHUB_OUTPUT="+p.outputs(), "GITHUB_STEP_SUMMARY="+p.summary())
	return p
}

func (p *person) outputs() string { return filepath.Join(p.base, "outputs") }
func (p *person) summary() string { return filepath.Join(p.base, "summary.md") }

// sleepLine is a call of boxer whose two shards sleep.
func (p *person) sleepLine(backend string) string {
	line := program + " shard --backend " + backend + " --count 2 --junit 'r/{i}.xml'"
	if backend == "host" {
		line += " --worktree shared"
	}
	return line + " -- " + sleepers
}

// asleep waits until both shards sleep.
func (p *person) asleep(j *job) {
	p.t.Helper()
	p.eventually("both shards sleep", j.out, func() bool { return strings.Count(j.out.String(), "asleep") >= 2 })
}

// wrote looks for what a run leaves for people and for the CI system, however it ended: the report has to hold some text.
func (p *person) wrote(code int, report string, out *output) {
	p.t.Helper()
	var r result
	b, err := os.ReadFile(filepath.Join(p.project, "boxer-report/result.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.ExitCode != code {
		p.t.Errorf("result.json has exit code %d, want %d (%v)\n%s", r.ExitCode, code, err, out)
	}
	b, err = os.ReadFile(filepath.Join(p.project, "boxer-report/junit.xml"))
	if err != nil || !strings.Contains(string(b), report) {
		p.t.Errorf("the report lacks %s: %s (%v)\n%s", report, b, err, out)
	}
	if !slices.Contains(p.env, "GITHUB_ACTIONS=true") {
		return
	}
	outputs, err := os.ReadFile(p.outputs())
	if err != nil || !strings.Contains(string(outputs), "exit-code<<") {
		p.t.Errorf("outputs: %q (%v)", outputs, err)
	}
	if _, err := os.Stat(p.summary()); err != nil {
		p.t.Error(err)
	}
}

// gone waits until nothing of the person is left.
func (p *person) gone(out *output) {
	p.t.Helper()
	p.eventually("nothing is left", out, func() bool { return len(p.left()) == 0 })
}

// TestKilledThenCollected: kill -9 leaves boxer no time, and `boxer gc` what is left to take away.
func TestKilledThenCollected(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"gvisor", "host"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t, github)
			j := github.start(t, p, p.sleepLine(backend))
			p.asleep(j)
			if err := j.process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-j.ended
			if out, err := p.boxer("gc").CombinedOutput(); err != nil {
				t.Errorf("gc: %v\n%s", err, out)
			}
			p.gone(j.out)
		})
	}
}

// TestClosedOutput: a reader that goes away, before the run ends or as the first victim of a cancellation, stops
// neither the run nor its teardown.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"gvisor", "host"} {
		t.Run("head/"+backend, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t, github)
			line := strings.Replace(p.sleepLine(backend), "exec sleep 1000", "for n in 1 2 3; do echo line; done", 1)
			// The run itself is as good as any other, but what it had to say was not said.
			code, out, errs := p.run(p.command("bash", "-c", line+" 2>&1 | head -1; exit ${PIPESTATUS[0]}"))
			if code != 125 || strings.Count(out, "\n") != 1 {
				t.Errorf("exit code %d, output %q\n%s", code, out, errs)
			}
			said := &output{}
			p.wrote(0, before, said)
			p.gone(said)
		})
		t.Run("tee/"+backend, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t, gitlabShell)
			// The name of tee's file tells nothing about boxer, and tee dies of the group's signal.
			j := gitlabShell.start(t, p, p.sleepLine(backend)+" 2>&1 | tee job.log")
			p.asleep(j)
			if o := gitlabShell.cancel(t, j); len(o.sent) > 1 {
				t.Errorf("it had to send %v\n%s", o.sent, j.out)
			}
			p.gone(j.out)
			p.wrote(128+int(syscall.SIGTERM), before, j.out)
		})
	}
}

// TestSimulators: what they must be able to tell apart. A script that hands a signal on to nobody needs the second
// one on GitHub, and what ignores all of them needs the last.
func TestSimulators(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line string
		want       []syscall.Signal
	}{
		{"obeys", "sh -c 'echo up; exec sleep 1000'", []syscall.Signal{syscall.SIGINT}},
		{"obeys the second", "bash -c 'trap \"\" INT; echo up; exec sleep 1000'", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}},
		{"obeys none", "bash -c 'trap \"\" INT TERM; echo up; exec sleep 1000'", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newRunner(t, github)
			j := github.start(t, p, c.line)
			p.eventually("it is up", j.out, func() bool { return strings.Contains(j.out.String(), "up\n") })
			if o := github.cancel(t, j); !slices.Equal(o.sent, c.want) {
				t.Errorf("sent %v, want %v", o.sent, c.want)
			}
		})
	}
}

// TestCancelledOnSmolvm: the same on the stand-in for smolvm. Whether what the shards wrote can still be brought out of a
// machine within the time is for the machine to say.
func TestCancelledOnSmolvm(t *testing.T) {
	v := newVMProject(t)
	v.write("boxer.yaml", "")
	p := &person{t: t, uid: os.Getuid(), base: v.base, project: v.dir}
	p.env = append(slices.Clone(v.env), github.env...)
	p.env = append(p.env, "GITHUB_OUTPUT="+p.outputs(), "GITHUB_STEP_SUMMARY="+p.summary())
	j := github.start(t, p, p.sleepLine("smolvm"))
	p.asleep(j)
	o := github.cancel(t, j)
	if len(o.sent) > 1 || o.code != 130 {
		t.Errorf("it had to send %v, exit code %d\n%s", o.sent, o.code, j.out)
	}
	p.wrote(130, "<testcase", j.out)
	p.eventually("no machine is left", j.out, func() bool { return len(v.machines()) == 0 && len(v.left()) == 0 && len(p.left()) == 0 })
}
