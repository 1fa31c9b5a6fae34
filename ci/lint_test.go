package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// debian is a program that .ci/run installs.
func debian(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("there is no %s: apt-get install %s", name, name)
	}
	return path
}

// lint runs a linter at the top of the repository. What it prints are its findings.
func lint(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = ".."
	out, err := c.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return string(out)
}

// TestWorkflows: actionlint, with shellcheck for the steps, finds nothing in the project's workflows.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: no workflows", err)
	}
	actionlint := []string{"-no-color", "-shellcheck", debian(t, "shellcheck")}
	for _, f := range files {
		if said := lint(t, tool(t, "bin/actionlint"), append(actionlint, strings.TrimPrefix(f, "../"))...); said != "" {
			t.Error(said)
		}
	}
}

// TestShell: shellcheck finds nothing in the scripts.
func TestShell(t *testing.T) {
	t.Parallel()
	files := strings.Split(strings.TrimSuffix(must(t, "..", "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00")
	var scripts []string
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("..", f))
		if err != nil {
			continue // deleted, and not yet in the index
		}
		first, _, _ := strings.Cut(string(b), "\n")
		if strings.HasSuffix(f, ".sh") || strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "sh") {
			scripts = append(scripts, f)
		}
	}
	if !slices.Contains(scripts, ".ci/run") || !slices.Contains(scripts, ".github/action/words.sh") {
		t.Fatalf("the scripts are %q", scripts)
	}
	if said := lint(t, debian(t, "shellcheck"), scripts...); said != "" {
		t.Error(said)
	}
}

// TestActionSchema: action.yml is what GitHub's schema wants.
func TestActionSchema(t *testing.T) {
	t.Parallel()
	validator := tool(t, "npm/node_modules/.bin/action-validator")
	if said := lint(t, validator, "action.yml"); said != "" {
		t.Error(said)
	}
	broken := filepath.Join(t.TempDir(), "action.yml")
	writeFile(t, broken, "name: x\ndescription: x\nruns: {using: composite, steps: [{run: echo}]}\n")
	if said := lint(t, validator, broken); !strings.Contains(said, "shell") {
		t.Errorf("the validator finds no missing shell: it says %q", said)
	}
}

// asWorkflow is a workflow with the steps of a composite action, which actionlint does not read.
func asWorkflow(t *testing.T, action []byte) string {
	t.Helper()
	var a struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct{ Steps []yaml.Node }
	}
	if err := yaml.Unmarshal(action, &a); err != nil {
		t.Fatal(err)
	}
	inputs := map[string]any{}
	for name := range a.Inputs {
		inputs[name] = map[string]string{"type": "string"}
	}
	workflow := map[string]any{
		"on": map[string]any{"workflow_call": map[string]any{"inputs": inputs}},
		"jobs": map[string]any{"steps": map[string]any{
			"runs-on": "ubuntu-24.04", "steps": a.Runs.Steps, "strategy": map[string]any{"matrix": map[string]any{"node": []int{1, 2}}},
		}},
	}
	b, err := yaml.Marshal(workflow)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "workflow.yml")
	writeFile(t, path, string(b))
	return path
}

// TestActionSteps: actionlint finds nothing in the steps of action.yml, and finds what is planted there.
func TestActionSteps(t *testing.T) {
	t.Parallel()
	action, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	actionlint := []string{"-no-color", "-shellcheck", debian(t, "shellcheck")}
	if said := lint(t, tool(t, "bin/actionlint"), append(actionlint, asWorkflow(t, action))...); said != "" {
		t.Error(said)
	}
	for _, row := range []struct{ old, planted, finds string }{
		{"inputs.backend }}", "inputs.backendd }}", `property "backendd" is not defined`},
		{"if: always()", "if: alwys()", `undefined function "alwys"`},
		{"exec boxer", "exec boxer $x", "SC2086"},
	} {
		broken := strings.Replace(string(action), row.old, row.planted, 1)
		if said := lint(t, tool(t, "bin/actionlint"), append(actionlint, asWorkflow(t, []byte(broken)))...); !strings.Contains(said, row.finds) {
			t.Errorf("%s is not found: actionlint says\n%s", row.planted, said)
		}
	}
}

var (
	pinned = regexp.MustCompile(`^[a-z/-]+@[0-9a-f]{40}$`)
	tagged = regexp.MustCompile(`@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
)

// TestActionRules: what cancellation and hostile inputs ask of action.yml, and no linter knows.
func TestActionRules(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Runs struct {
			Steps []struct{ ID, If, Run, Uses, Shell string }
		}
	}
	if err := yaml.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	steps := a.Runs.Steps
	for _, s := range steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("an expression is a part of a script: %s", s.Run)
		}
		if s.Uses != "" && !pinned.MatchString(s.Uses) {
			t.Errorf("%s is not pinned to a commit", s.Uses)
		}
		if s.ID != "run" {
			continue
		}
		if strings.Contains(s.If, "always") || !strings.HasSuffix(strings.TrimSpace(s.Run), "\nexec boxer \"${words[@]}\"") {
			t.Errorf("the step that runs boxer would not get GitHub's signals: if: %s, run: %s", s.If, s.Run)
		}
	}
	last := steps[len(steps)-1]
	if !strings.HasPrefix(last.If, "always()") || !strings.HasPrefix(last.Run, "boxer gc") {
		t.Errorf("the last step does not clean up: if: %s, run: %s", last.If, last.Run)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "uses:") && !tagged.MatchString(strings.TrimSpace(line)) {
			t.Errorf("no tag stands behind %s", line)
		}
	}
}
