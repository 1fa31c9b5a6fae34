package cmd

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// scripted is a backend that does nothing but answer as it is told.
type scripted struct {
	kind         string
	probe, start error
	started      *[]string
}

func (s scripted) Kind() string                { return s.kind }
func (s scripted) Probe(context.Context) error { return s.probe }

func (s scripted) Attach(context.Context, runner.Scope) (runner.Session, error) {
	return nil, &runner.Error{Cause: runner.NotRunning}
}

func (s scripted) Start(context.Context, runner.Scope, runner.Spec, func(runner.Step)) (runner.Session, error) {
	*s.started = append(*s.started, s.kind)
	return nil, s.start
}

// on builds deps around a gvisor and a host backend, in folders of their own.
func on(t *testing.T, gvisor, host scripted) (d deps, s scoped, started *[]string) {
	t.Helper()
	dir, started := t.TempDir(), &[]string{}
	_, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	open := func(b scripted, kind string) func(runner.Dirs) runner.Backend {
		b.kind, b.started = kind, started
		return func(runner.Dirs) runner.Backend { return b }
	}
	d = deps{
		ctx: t.Context(), call: &call{command: "up", dir: dir, flags: map[string][]string{}},
		Process: Process{Err: w, Env: []string{"HOME=" + dir, "BOXER_TMP=" + dir, "XDG_RUNTIME_DIR=" + dir}},
		backends: []backend{
			{kind: "gvisor", forks: true, open: open(gvisor, "gvisor")}, {kind: "host", open: open(host, "host")},
			{kind: "smolvm", forks: true, open: open(scripted{probe: noVM, start: noVM}, "smolvm")},
		},
	}
	var f config.Faults
	s = d.resolve(&f)
	if len(f) > 0 {
		t.Fatal(f)
	}
	return d, s, started
}

var noVM = &runner.Error{Reason: "there is no program smolvm on PATH", Cause: runner.BackendUnavailable, Fix: "boxer doctor"}

func TestStartChoosesTheBackend(t *testing.T) {
	t.Parallel()
	broken := &runner.Error{Reason: "user namespaces are refused", Cause: runner.BackendUnavailable, Fix: "sysctl x=1"}
	setup := &runner.Error{Reason: "setup failed", Cause: runner.SetupFailed}
	for _, c := range []struct {
		name, backend string
		gvisor        scripted
		started       string
		cause         runner.Cause
		says          string
	}{
		{"auto is gvisor", "auto", scripted{}, "gvisor", "", ""},
		{"host by name", "host", scripted{probe: broken, start: broken}, "host", "", ""},
		{"gvisor by name keeps its own error", "gvisor", scripted{probe: broken, start: broken}, "gvisor", runner.BackendUnavailable, "user namespaces are refused"},
		{"auto never falls to none", "auto", scripted{probe: broken, start: broken}, "gvisor", runner.BackendUnavailable, "no backend that isolates works here, and boxer does not fall back to none by itself"},
		{"a failed setup is no broken backend", "auto", scripted{start: setup}, "gvisor", runner.SetupFailed, "setup failed"},
		{"smolvm is not there", "smolvm", scripted{}, "smolvm", runner.BackendUnavailable, "there is no program smolvm on PATH"},
	} {
		d, s, started := on(t, c.gvisor, scripted{})
		s.Backend = c.backend
		_, err := d.start(t.Context(), s, runner.Live)
		if got := strings.Join(*started, " "); got != c.started {
			t.Errorf("%s: started %q", c.name, got)
		}
		if runner.CauseOf(err) != c.cause || (err != nil && err.Error() != c.says) {
			t.Errorf("%s: %v (%s)", c.name, err, runner.CauseOf(err))
		}
	}
}

func TestRefusalTellsAllReasonsAndNamesHost(t *testing.T) {
	t.Parallel()
	broken := &runner.Error{Reason: "user namespaces are refused", Cause: runner.BackendUnavailable, Fix: "sysctl x=1"}
	d, s, _ := on(t, scripted{probe: broken, start: broken}, scripted{})
	_, err := d.start(t.Context(), s, runner.Live)
	want := `boxer: no backend that isolates works here, and boxer does not fall back to none by itself
  cause:     BACKEND_UNAVAILABLE
  fix:       boxer up --backend host
  | gvisor: user namespaces are refused
  |         fix: sysctl x=1
  | smolvm: there is no program smolvm on PATH`
	if got := d.complaint(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDoctorExamines(t *testing.T) {
	t.Parallel()
	broken := &runner.Error{Reason: "no", Cause: runner.BackendUnavailable, Fix: "sysctl x=1"}
	d, s, _ := on(t, scripted{probe: broken}, scripted{})
	all := doctorOptions{d, s}.examineAll(t.Context())
	if len(all) != 3 || all[0].Works || all[0].Fix != "sysctl x=1" || !all[1].Works || all[2].Works {
		t.Errorf("got %+v", all)
	}
	for configured, want := range map[string]string{"auto": "", "gvisor": "", "host": "host", "smolvm": ""} {
		if got := chosenBackend(configured, false, all); got != want {
			t.Errorf("%s: chosen %q", configured, got)
		}
	}
	all[0].Works = true
	if got := chosenBackend("auto", false, all); got != "gvisor" {
		t.Errorf("auto with gvisor: %q", got)
	}
	if got := chosenBackend("auto", true, all); got != "gvisor" {
		t.Errorf("auto with an image and no smolvm: %q", got)
	}
	all[2].Works = true
	if got := chosenBackend("auto", true, all); got != "smolvm" {
		t.Errorf("auto with an image: %q", got)
	}
}

func TestAutoIsSmolvmWhereAnImageIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, image string
		vm          scripted
		want        string
	}{
		{"it works", "node:22", scripted{}, "smolvm"},
		{"it does not", "node:22", scripted{probe: noVM, start: noVM}, "gvisor"},
		{"no image", "", scripted{}, "gvisor"},
	} {
		d, s, started := on(t, scripted{}, scripted{})
		c.vm.kind, c.vm.started = "smolvm", started
		d.backends[2].open = func(runner.Dirs) runner.Backend { return c.vm }
		s.Backend, s.Smolvm.Image = "auto", c.image
		if _, err := d.start(t.Context(), s, runner.Live); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := strings.Join(*started, " "); got != c.want {
			t.Errorf("%s: started %q", c.name, got)
		}
	}
}
