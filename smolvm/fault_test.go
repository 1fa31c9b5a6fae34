package smolvm

import (
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	const staged = "config operation failed: fork: staged mounts cannot be branched yet because multiple descendants would synchronize into the same host directory"
	branch := []string{"machine", "branch", "--from", "s", "--name", "s-f1"}
	for _, c := range []struct {
		name  string
		args  []string
		a     answer
		cause runner.Cause
		says  string
		fix   string
	}{
		{"staged, letter for letter", branch, answer{err: "WARN x\nError: " + staged + "\n", code: 1}, StagedMount, staged, "smolvm machine delete --name s --force && boxer fork --prepare"},
		{"not branchable", branch, answer{err: "Error: machine 's' was not started as branchable", code: 1}, runner.NotForkable, "was not started as branchable", "boxer fork --prepare"},
		{"device missing", []string{"machine", "start", "--name", "s"}, answer{err: "Error: agent operation failed: start machine: KVM not available\n  sudo modprobe kvm", code: 1}, NoHypervisor, "KVM not available", "sudo modprobe kvm"},
		{"device closed", []string{"machine", "start", "--name", "s"}, answer{err: "Error: agent operation failed: start machine: Cannot access /dev/kvm (permission denied).", code: 1}, NoHypervisor, "permission denied", kvmGroup},
		{"unknown words of several lines", branch, answer{err: "Error: one\ntwo", code: 1}, runner.BackendFailed, "smolvm machine branch --from s --name s-f1 failed with exit code 1", "boxer doctor"},
		{"bad flag", branch, answer{err: "error: unexpected argument", code: 2}, runner.OtherVersion, "was not understood", "smolvm --version"},
		{"killed", branch, answer{code: -1}, runner.BackendFailed, "was killed", "boxer doctor"},
		{"silent", branch, answer{code: 1}, runner.BackendFailed, "said nothing", "boxer doctor"},
		{"unknown in JSON form", branch, answer{err: "Error: config operation failed: machine status: machine 's' not found", code: 1}, runner.Gone, "does not know the machine s", "boxer ls"},
	} {
		e := faultOf(c.args, c.a)
		if e.Cause != c.cause || !strings.Contains(e.Reason, c.says) || e.Fix != c.fix {
			t.Errorf("%s: %#v", c.name, e)
		}
	}
	if e := faultOf(branch, answer{err: "Error: one\ntwo", code: 1}); !slices.Equal(e.Output, []string{"one", "two"}) {
		t.Errorf("unknown text is not whole: %q", e.Output)
	}
	for _, f := range faults {
		if f.fix == "" && f.cause != runner.PackTruncated { // who named the pack knows how to make it anew
			t.Errorf("%q has no fix", f.text)
		}
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	old := manifest{"a": {Size: 1}, "b": {Size: 1}, "d": {Mode: 1 << 31}, "d/x": {}, "gone": {}}
	now := manifest{"a": {Size: 1}, "b": {Size: 2}, "d": {}, "new": {}}
	changed, gone := difference(old, now)
	if !slices.Equal(changed, []string{"b", "d", "new"}) || !slices.Equal(gone, []string{"gone", "d/x", "d"}) {
		t.Errorf("changed %q, gone %q", changed, gone)
	}
}

func TestExcluded(t *testing.T) {
	t.Parallel()
	for rel, want := range map[string]bool{
		"node_modules": true, "a/node_modules": true, "a/b.log": true, "dist/x": true, "a/dist/x": false, "src": false, "boxer-report": true,
	} {
		if got := excluded(rel, []string{"node_modules/", "*.log", "dist/*"}); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
}

func TestSearches(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"reports/**/*.xml":       {"reports", "", "*.xml"},
		"junit*.xml":             {".", "-maxdepth 1", "junit*.xml"},
		"a/b/c.xml":              {"a/b", "-maxdepth 1", "c.xml"},
		"coverage/**":            {"coverage", "", "*"},
		"reports/":               {"reports", "", "*"},
		"a/{b,c}/*.xml":          {"a", "", "*"},
		"target/*/TEST-[ab].xml": {"target", "", "*"},
	} {
		if got := searches(runner.Pick{Patterns: []string{pattern}}); !slices.Equal(got, want) {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}
