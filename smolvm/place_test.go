//go:build linux

package smolvm_test

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// smolvm calls the program as a person would, unlogged and without faults.
func (p *place) smolvm(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(p.program, args...)
	c.Env = append(p.env, "SMOLVM_TEST_LOG=", "SMOLVM_TEST_FAULT=")
	out, err := c.Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			t.Fatalf("smolvm %q: %v\n%s", args, err, e.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

// machines are those of this place.
func (p *place) machines(t *testing.T) []string {
	t.Helper()
	var all []struct {
		Name   string
		Labels map[string]string
	}
	if err := json.Unmarshal([]byte(p.smolvm(t, "machine", "ls", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range all {
		if !p.shares || m.Labels["boxer.scope"] == p.scope.Key {
			names = append(names, m.Name)
		}
	}
	return names
}
