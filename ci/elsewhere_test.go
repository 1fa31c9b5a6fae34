package ci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// nodes is a folder in which the machines of a run leave their reports, and boxer on PATH for them.
type nodes struct {
	t   *testing.T
	dir string
	env []string
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "bxn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("what cannot be removed is left: %v", err)
		}
	})
	writeFile(t, filepath.Join(base, "bin/boxer"), program(t))
	writeFile(t, filepath.Join(base, "project/test.sh"), testScript)
	return &nodes{t, filepath.Join(base, "project"), []string{
		"PATH=" + filepath.Join(base, "bin") + ":" + os.Getenv("PATH"), "HOME=" + base, "XDG_RUNTIME_DIR=" + base,
		"XDG_STATE_HOME=" + filepath.Join(base, "state"), "TMPDIR=" + base,
	}}
}

// run starts a command of a machine, whose variables they are.
func (n *nodes) run(env []string, name string, args ...string) string {
	n.t.Helper()
	path := name
	if !strings.Contains(name, "/") {
		if found, err := exec.LookPath(filepath.Join(n.dir, "../bin", name)); err == nil {
			path = found
		}
	}
	c := exec.Command(path, args...)
	c.Dir, c.Env = n.dir, append(append([]string(nil), n.env...), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		n.t.Errorf("%s %q with %q: %v\n%s", name, args, env, err, out)
	}
	return string(out)
}

// TestElsewhereReadme runs the README's lines for CircleCI and Buildkite, as the two jobs that these would start, with
// the variables that say there which job it is.
func TestElsewhereReadme(t *testing.T) {
	t.Parallel()
	var circle struct {
		Jobs struct {
			Tests struct {
				Parallelism int
				Steps       []yaml.Node
			}
		}
	}
	var buildkite struct {
		Steps []struct {
			Parallelism int
			Command     any
		}
	}
	all := blocks(t, "Elsewhere")
	if err := yaml.Unmarshal([]byte(all[0]), &circle); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(all[1]), &buildkite); err != nil {
		t.Fatal(err)
	}
	shard := ""
	for _, step := range circle.Jobs.Tests.Steps {
		var s struct{ Run string }
		if step.Decode(&s) == nil && strings.Contains(s.Run, "boxer shard") {
			shard = s.Run
		}
	}
	merge, _ := buildkite.Steps[2].Command.([]any)
	for _, row := range []struct {
		name, command string
		parallelism   int
		env           string
	}{
		{"CircleCI", shard, circle.Jobs.Tests.Parallelism, "CIRCLECI=true CIRCLE_WORKFLOW_ID=w CIRCLE_NODE_INDEX=%d CIRCLE_NODE_TOTAL=2"},
		{"Buildkite", fmt.Sprint(buildkite.Steps[0].Command), buildkite.Steps[0].Parallelism,
			"BUILDKITE=true BUILDKITE_BUILD_ID=b BUILDKITE_PARALLEL_JOB=%d BUILDKITE_PARALLEL_JOB_COUNT=2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.parallelism != 2 {
				t.Fatalf("the README has %d machines", row.parallelism)
			}
			n := newNodes(t)
			for i := range row.parallelism {
				out := n.run(strings.Fields(fmt.Sprintf(row.env, i)), "bash", "-eo", "pipefail", "-c", row.command)
				for _, shard := range []int{2*i + 1, 2*i + 2} {
					if marker := fmt.Sprintf("[%d/4] marker %d of 4\n", shard, shard); !strings.Contains(out, marker) {
						t.Errorf("node %d did not print %q, but\n%s", i, marker, out)
					}
				}
			}
			out := n.run(nil, "bash", "-c", fmt.Sprint(merge[1]))
			if want := "4 shards · 4 tests · each ran once"; !strings.Contains(out, want) {
				t.Errorf("the merge prints\n%s", out)
			}
		})
	}
}

// container is what is read of a Job's.
type container struct {
	Name, WorkingDir string
	Command          []string
	Env              []struct{ Name, Value string }
	VolumeMounts     []struct{ MountPath, SubPath string }
}

type job struct {
	Kind string
	Spec struct {
		Completions    int
		CompletionMode string
		Template       struct {
			Spec struct {
				RestartPolicy string
				Containers    []container
			}
		}
	}
}

// manifest reads one of the example's, strictly by Kubernetes' own types.
func manifest(t *testing.T, text string) (job, error) {
	t.Helper()
	c := exec.Command("go", "run", ".")
	c.Dir, c.Stdin = "testdata/kubernetes", strings.NewReader(text)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return job{}, fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	var j job
	return j, json.Unmarshal(out.Bytes(), &j)
}

// TestKubernetesManifests: the example is what Kubernetes' types allow, the reader refuses what they do not, and what
// the API server asks of an Indexed Job is there.
func TestKubernetesManifests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../examples/kubernetes/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v: %q", err, files)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			_, err = manifest(t, string(b))
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for old, broken := range map[string]string{"metadata:": "metadatum:", "apiVersion: ": "apiVersion: x", "name: boxer": "name: [boxer]"} {
			if _, err := manifest(t, strings.Replace(string(b), old, broken, 1)); err == nil {
				t.Errorf("%s is not refused with %q", f, broken)
			}
		}
	}
}

// TestKubernetesNodes runs the containers' commands here, for two of the pods and the merge.
func TestKubernetesNodes(t *testing.T) {
	t.Parallel()
	read := func(name string) job {
		b, err := os.ReadFile("../examples/kubernetes/" + name)
		if err != nil {
			t.Fatal(err)
		}
		j, err := manifest(t, string(b))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	tests, merge := read("tests.yaml"), read("merge.yaml")
	pod := tests.Spec.Template.Spec.Containers[0]
	if env := environment(pod, ""); tests.Spec.CompletionMode != "Indexed" || env["NODES"] != strconv.Itoa(tests.Spec.Completions) {
		t.Errorf("%d completions, %s, with NODES=%s", tests.Spec.Completions, tests.Spec.CompletionMode, env["NODES"])
	}
	if tests.Spec.Template.Spec.RestartPolicy != "Never" { // a podFailurePolicy allows no other
		t.Error("restartPolicy is", tests.Spec.Template.Spec.RestartPolicy)
	}
	n := newNodes(t)
	writeFile(t, filepath.Join(n.dir, "boxer.yaml"), "shard: {command: sh ./test.sh <i> <n>, junit: [\"reports/*.xml\"]}\n")
	reports := filepath.Join(n.dir, "../volume", pod.VolumeMounts[0].SubPath)
	if err := os.MkdirAll(reports, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{0, 1} {
		env := environment(pod, reports)
		env["NODES"], env["BOXER_COUNT"] = "2", "2" // the example's 16 shards are many for a test
		env["JOB_COMPLETION_INDEX"] = strconv.Itoa(index)
		var list []string
		for name, value := range env {
			list = append(list, name+"="+value)
		}
		out := n.run(list, "unshare", append(asFirst(), pod.Command...)...)
		if marker := fmt.Sprintf("marker %d of 4\n", 2*index+1); !strings.Contains(out, marker) {
			t.Errorf("pod %d did not print %q, but\n%s", index, marker, out)
		}
	}
	command := merge.Spec.Template.Spec.Containers[0].Command
	if merge.Spec.Template.Spec.Containers[0].VolumeMounts[0] != pod.VolumeMounts[0] {
		t.Error("the merge has not the volume of the tests")
	}
	for i, word := range command {
		command[i] = strings.Replace(word, "/reports", reports, 1)
	}
	if out := n.run(nil, command[0], command[1:]...); !strings.Contains(out, "4 shards · 4 tests · each ran once") {
		t.Errorf("the merge prints\n%s", out)
	}
}

// asFirst are flags of unshare that make a command the first process of a namespace, as it is in a container.
func asFirst() []string {
	flags := []string{"--pid", "--fork", "--mount-proc"}
	if os.Getuid() != 0 {
		flags = append(flags, "--user", "--map-root-user")
	}
	return flags
}

// environment is a container's, with its volume elsewhere.
func environment(c container, reports string) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.Value == "/reports" {
			env[e.Name] = reports
		}
	}
	return env
}
