package shard

import (
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestRemovalIsTriedAgainAndItsFailureTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.failRemoves = 1
	res, err := Run(t.Context(), forking{m}, m.shell(2, "true"))
	check(t, res, err, 0, Passed, Passed)
	checkRemoved(t, m)

	m = newMachine(t)
	m.failRemoves = 2
	res, err = Run(t.Context(), forking{m}, m.shell(2, "true"))
	if runner.CauseOf(err) != "NOT_REMOVED" || res.ExitCode != 125 || len(res.NotRemoved) != 2 {
		t.Errorf("exit code %d, left %q, error %v", res.ExitCode, res.NotRemoved, err)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "exit $((<i> - 1))")
	o.Keep = true
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Passed, Failed)
	if len(m.kept) != 2 || len(m.alive()) != 2 {
		t.Errorf("kept %q, alive %q", m.kept, m.alive())
	}
	if want := "look inside: boxer run --scope " + res.Shards[1].Child + " -- sh\n"; !strings.Contains(out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, out.String())
	}
}
