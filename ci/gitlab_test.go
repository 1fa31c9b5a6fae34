package ci_test

import (
	"encoding/xml"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository is a project on GitLab, as gitlab-ci-local sees one: a git repository in a folder.
type repository struct {
	t        *testing.T
	dir      string
	template string // what it includes
	env      []string
}

// newRepository has a copy of an example as its project, "" for none, and the template, whose boxer is a released 9.9.9
// that this machine serves.
func newRepository(t *testing.T, example string) *repository {
	t.Helper()
	debian(t, "rsync") // gitlab-ci-local starts it
	base, err := os.MkdirTemp("/var/tmp", "bxg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Errorf("what cannot be removed is left: %v", err)
		}
	})
	r := &repository{t: t, dir: filepath.Join(base, "project")}
	if example != "" {
		if err := os.CopyFS(r.dir, os.DirFS(filepath.Join("../examples", example))); err != nil {
			t.Fatal(err)
		}
	}
	r.env = []string{"XDG_STATE_HOME=" + filepath.Join(base, "state"), "XDG_RUNTIME_DIR=" + base, "TMPDIR=" + base}
	b, err := os.ReadFile("../examples/gitlab/boxer.yml")
	if err != nil {
		t.Fatal(err)
	}
	// gitlab-ci-local takes a job with an image for one in a container, although it starts none, and gives it a folder
	// at /builds.
	r.template = replace(t, string(b), "  image: $[[ inputs.image ]]\n", "")
	return r
}

// release makes the template one of boxer 9.9.9, which lies on a server of the test.
func (r *repository) release() {
	r.t.Helper()
	served := publish(r.t, program(r.t))
	r.template = replace(r.t, r.template, "default: https://github.com/boxer-ci/boxer/releases/download\n", "default: "+served.url+"/download\n")
	r.template = replace(r.t, r.template, "default: 0.1.0\n", "default: 9.9.9\n")
	for _, arch := range []string{"AMD64", "ARM64"} {
		r.template = replace(r.t, r.template, "BOXER_SHA256_LINUX_"+arch+`: ""`, "BOXER_SHA256_LINUX_"+arch+`: "`+served.sum+`"`)
	}
}

// replace is strings.ReplaceAll of what must be there.
func replace(t *testing.T, text, old, now string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	return strings.ReplaceAll(text, old, now)
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.dir, name), text)
}

// pipeline is what came of one.
type pipeline struct {
	t    *testing.T
	code int
	out  string // without colours, which GitLab shows
}

// run commits the project with a .gitlab-ci.yml and runs its pipeline, in the project itself and job by job: with a copy
// for each job gitlab-ci-local loses the artifacts of one that has an after_script.
func (r *repository) run(config string, flags ...string) pipeline {
	r.t.Helper()
	r.write(".gitlab-ci.yml", config)
	must(r.t, r.dir, "sh", "-c", `git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`)
	args := append([]string{
		"--no-color", "--concurrency", "1", "--variable", "GITLAB_CI=true", "--ignore-predefined-vars", "GITLAB_CI",
		"--max-job-name-padding", "0", "--home", "../home", "--state-dir", "../state", // else the tests find copies of themselves
	}, flags...)
	c := exec.Command(tool(r.t, "npm/node_modules/.bin/gitlab-ci-local"), args...)
	c.Dir, c.Env = r.dir, append(os.Environ(), r.env...)
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("gitlab-ci-local printed\n%s", out)
		}
	})
	return pipeline{r.t, c.ProcessState.ExitCode(), regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(string(out), "")}
}

// ended checks the pipeline's exit code.
func (p pipeline) ended(code int) {
	p.t.Helper()
	if p.code != code {
		p.t.Errorf("exit code %d, want %d", p.code, code)
	}
}

// prints checks that a job printed a line, which says too that it ran.
func (p pipeline) prints(job, line string) {
	p.t.Helper()
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(job) + ` +> ` + regexp.QuoteMeta(line) + `$`).MatchString(p.out) {
		p.t.Errorf("job %s did not print %q", job, line)
	}
}

// tests counts the cases of a report that is an artifact of a job.
func (r *repository) tests(job, report string) (tests, failures int) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "../state/artifacts", job+"*", report))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("%v: %q, want one %s of %s", err, found, report, job)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		r.t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
		token, err := d.Token()
		if token == nil {
			return tests, failures
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			switch start.Name.Local {
			case "testcase":
				tests++
			case "failure", "error":
				failures++
			}
		}
	}
}

// holds checks the numbers of the report that a job left as an artifact.
func (r *repository) holds(job, report string, tests, failures int) {
	r.t.Helper()
	if n, failed := r.tests(job, report); n != tests || failed != failures {
		r.t.Errorf("%s of %s has %d tests and %d failures, want %d and %d", report, job, n, failed, tests, failures)
	}
}

// nodeProject is one that the README's blocks fit: Node's test runner, no packages, no boxer.yaml.
func nodeProject(t *testing.T) *repository {
	t.Helper()
	r := newRepository(t, "")
	r.write("package.json", `{"name": "p", "type": "module"}`)
	r.write("package-lock.json", `{"name": "p", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "p"}}}`)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.write("test/"+name+".test.js", `import { test } from "node:test"; test("`+name+`", () => {});`)
	}
	return r
}

// TestGitLabFromSource runs what there is as long as there is no release, with boxer built from source: the README's
// first block, from a copy of the template, and the pipeline without the template.
func TestGitLabFromSource(t *testing.T) {
	t.Parallel()
	version, env := source(t)
	t.Run("the README", func(t *testing.T) {
		r := nodeProject(t)
		r.env = append(r.env, env...)
		r.write(".gitlab/boxer.yml", replace(t, r.template, "default: 0.1.0\n", "default: "+version+"\n"))
		p := r.run(blocks(t, "In GitLab CI")[0])
		p.ended(0)
		p.prints("boxer: [1/1]", "boxer: this template has no checksum of "+asset(version)+": building v"+version+" from source")
		p.prints("boxer: [1/1]", "boxer v"+version)
		p.prints("boxer: [1/1]", "boxer: nothing to reclaim") // after_script
		r.holds("boxer", "boxer-report/junit.xml", 4, 0)
	})
	t.Run("plain", func(t *testing.T) {
		r := newRepository(t, "")
		r.env = append(append(r.env, env...), "GOPATH="+t.TempDir(), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
		r.write("test.sh", testScript)
		config, err := os.ReadFile("../examples/gitlab/plain.yml")
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(`(?m)^  image: .*\n`).ReplaceAllString(string(config), "")
		p := r.run(replace(t, text, "v0.1.0", "v"+version))
		p.ended(0)
		p.prints("tests: [2/2]", "[3/4] marker 3 of 4")
		p.prints("tests: [1/2]", "boxer: nothing to reclaim")
		p.prints("merge", "4 shards · 4 tests · each ran once")
		r.holds("merge", "boxer-report/junit.xml", 4, 0)
	})
}

// TestGitLabNodes runs the README's block with two machines, from a component.
func TestGitLabNodes(t *testing.T) {
	t.Parallel()
	r := nodeProject(t)
	r.release()
	r.write("templates/boxer.yml", r.template)
	block := replace(t, blocks(t, "In GitLab CI")[1], "$CI_SERVER_FQDN/ci/boxer/boxer@0.1.0", "$CI_SERVER_FQDN/$CI_PROJECT_PATH/boxer@$CI_COMMIT_SHA")
	p := r.run(block)
	p.ended(0)
	for _, job := range []string{"boxer: [1/2]", "boxer: [2/2]"} {
		p.prints(job, "boxer: nothing to reclaim")
	}
	p.prints("boxer: [2/2]", "boxer: node 2 of 2 (CI_NODE_INDEX and CI_NODE_TOTAL of GitLab CI; --node none to run all shards here): shards 3 to 4 of 4")
	p.prints("boxer-merge", "4 shards · 4 tests · each ran once")
	r.holds("boxer-merge", "boxer-report/junit.xml", 4, 0)
	r.holds("boxer-merge", "boxer-report/node-1/junit.xml", 2, 0)
	r.holds("boxer-merge", "boxer-report/node-2/junit.xml", 2, 0)
}

// TestGitLabFailure: a failing test fails the job, the report is there all the same, and a command arrives as it is
// written. The template comes from its address, as in the README's third block.
func TestGitLabFailure(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "")
	r.release()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(r.template)) }))
	t.Cleanup(server.Close)
	r.write("boxer.yml", r.template)
	sum := must(t, r.dir, "sh", "-c", "openssl dgst -sha256 -binary boxer.yml | openssl base64 -A") // as the README says
	block := blocks(t, "In GitLab CI")[2]
	block = replace(t, block, "https://raw.githubusercontent.com", server.URL)
	block = replace(t, block, "sha256-"+strings.Repeat("A", 43)+"=", "sha256-"+sum)
	block += `    inputs:
      job-name: tests
      count: "2"
      env: MINE=it's "so"
      junit: r <i>/*.xml
      command: |
        x="it's <i>"; mkdir "r <i>"
        echo "marker $x of \"{n}\" \$x $MINE" '"$x"' \
          | cat
        printf '<testsuite name="s"><testcase name="t<i>" classname="c">%s</testcase></testsuite>' \
          "$([ <i> = 1 ] || echo '<failure/>')" >"r <i>/j.xml"
        [ <i> = 1 ] # the last line
`
	p := r.run(block)
	p.ended(1)
	p.prints("tests: [1/1]", `[1/2] marker it's 1 of "2" $x it's "so" "$x"`)
	p.prints("tests: [1/1]", `[2/2] marker it's 2 of "2" $x it's "so" "$x"`)
	p.prints("tests: [1/1]", "boxer: nothing to reclaim")
	r.holds("tests", "boxer-report/junit.xml", 2, 1)
}

// TestGitLabMonorepo runs the example's pipeline: the template twice, in folders with a boxer.yaml each.
func TestGitLabMonorepo(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "monorepo")
	r.release()
	r.write(".gitlab/boxer.yml", r.template)
	config, err := os.ReadFile("../examples/monorepo/.gitlab-ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	// Here the jobs share a folder, so the report of the second would lie in that of the first.
	for _, row := range []struct {
		job   string
		line  string
		tests int
	}{{"api", "[1/2] PASS cart.TestTotal (0.00s)", 7}, {"web", "2 shards · 3 tests · each ran once", 3}} {
		p := r.run(string(config), "--evaluate-rule-changes=false", row.job)
		p.ended(0)
		p.prints(row.job+": [1/1]", row.line)
		r.holds(row.job, "boxer-report/junit.xml", row.tests, 0)
	}
}

// testScript is a test command for shard $1 of $2.
const testScript = `#!/bin/sh
echo "marker $1 of $2"
mkdir -p reports
echo "<testsuite name='s'><testcase classname='c' name='t$1'/></testsuite>" >"reports/$1.xml"
`
