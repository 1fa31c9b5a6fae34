package boxer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRunnersByList: boxer deals the tests itself, and the ledger closes over what each runner's reporter writes. pytest's
// list is in its boxer.yaml, which TestRunners runs.
func TestRunnersByList(t *testing.T) {
	t.Parallel()
	const byReport, byCommand = " · each ran once", " · each ran once · by command"
	for _, c := range []struct {
		example, file, units string
		tests                int // at least: a set-up project runs in every batch
		line                 string
		covered              func(*testing.T, *person) // the README's recipe
	}{
		{"jest", "list.yaml", "6 units", 12, byCommand, nil}, // jest-junit's defaults name no file
		{"vitest", "list.yaml", "6 units", 14, byReport, nil},
		{"mocha", "coverage.yaml", "6 units", 13, byReport, coverageOfNyc},
		{"gotest", "coverage.yaml", "6 units", 18, byReport, coverageOfGo},
		{"playwright", "list.yaml", "6 units", 21, byReport, reportOfPlaywright},
		{"node-redis", "list.yaml", "6 units", 18, byReport, nil},
	} {
		t.Run(c.example, func(t *testing.T) {
			p := runnersPerson(t, c.example)
			r := p.shard(0, "--config", c.file, "--count", "2")
			if r.Totals.Tests < c.tests || r.Totals.Passed != r.Totals.Tests || !r.Ledger.Closed ||
				!strings.Contains(r.Ledger.Line, c.units) || !strings.HasSuffix(r.Ledger.Line, c.line) {
				t.Errorf("%+v", r)
			}
			p.clean()
			if c.covered != nil {
				c.covered(t, p)
			}
			p.nothingLeft()
		})
	}
}

// TestSetUpInEveryShard: Playwright runs a project that others wait for in every shard, which doubles nothing.
func TestSetUpInEveryShard(t *testing.T) {
	t.Parallel()
	p := runnersPerson(t, "playwright")
	r := p.shard(0, "--count", "2", "--", "node_modules/.bin/playwright", "test", "--config", "projects.config.js",
		"--shard=<i>/<n>", "--reporter=list,junit")
	if r.Totals.Tests != 22 || r.Totals.Passed != 22 || !r.Ledger.Closed {
		t.Errorf("%+v", r)
	}
	p.clean()
	p.nothingLeft()
}

// TestIndexIgnored: a command that runs everything in every shard is found out by its report.
func TestIndexIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		example, command string
		tests            int // of each shard
	}{
		{"gotest", "go tool gotestsum --junitfile junit.xml ./...", 18},
		{"pytest", "python3 -m pytest --junitxml=junit.xml", 14}, // names the child in each report
	} {
		t.Run(c.example, func(t *testing.T) {
			p := runnersPerson(t, c.example)
			p.must("rm", "boxer.yaml") // it has a list, by which boxer would deal
			p.commit()
			args := append([]string{"--count", "2", "--junit", "junit.xml", "--"}, strings.Fields(c.command)...)
			r := p.shard(6, args...)
			if r.Ledger.Closed || r.Totals.Tests != 2*c.tests || r.Totals.Passed != 2*c.tests {
				t.Errorf("%+v", r)
			}
			p.clean()
			p.nothingLeft()
		})
	}
}

// planted are tests of which one fails where another one has run before in its child, and one fails always.
var planted = map[string]string{
	"conftest.py": `import os, pytest

@pytest.fixture(autouse=True)
def leaves_a_file():
    yield
    open("/tmp/left", "w").close()
`,
	"tests/test_a.py":     "def test_a(): pass\n",
	"tests/test_b.py":     "def test_b(): pass\n",
	"tests/test_c.py":     "def test_c(): pass\n",
	"tests/test_flaky.py": "import os\n\ndef test_clean(): assert not os.path.exists('/tmp/left')\n",
	"tests/test_real.py":  "def test_wrong(): assert 1 == 2\n",
	".gitignore":          "/boxer-report/\n__pycache__/\n.pytest_cache/\n",
}

// TestPlantedVerdicts: what an earlier unit of the child broke is flaky and what is broken is real, in each of ten runs.
func TestPlantedVerdicts(t *testing.T) {
	t.Parallel()
	p := newPerson(t, os.Getuid(), "")
	p.debianPython()
	p.must("mkdir", "tests")
	for name, text := range planted {
		p.write(name, text)
	}
	p.commit()
	p.must("boxer", "up")
	runs := 10
	if testing.Short() {
		runs = 2
	}
	for n := range runs {
		args := []string{"--count", "2", "--tests", "tests/test_*.py", "--retries", "1", "--junit", "junit.xml", "--timings", "new.json"}
		if n%2 == 1 {
			args = append(args, "--static")
		}
		r := p.shard(1, append(args, "--", "python3", "-m", "pytest", "-q", "--junitxml=junit.xml", "<tests>")...)
		if r.Totals.Tests != 5 || r.Totals.Failures != 1 || r.Totals.Passed != 4 || !r.Ledger.Closed {
			t.Errorf("run %d: %+v", n+1, r)
		}
		p.verdicts(n+1, map[string]string{
			"tests/test_flaky.py": "flaky", "tests/test_real.py": "real", "test_clean": "flaky", "test_wrong": "real",
		})
		if err := os.Remove(filepath.Join(p.project, "new.json")); err != nil { // or the next run deals in another order
			t.Fatal(err)
		}
	}
	p.must("boxer", "down")
	p.nothingLeft()
}

// verdicts compares flaky.json with the units and tests that are to be in it.
func (p *person) verdicts(run int, want map[string]string) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.project, "boxer-report/flaky.json"))
	var doc struct {
		Units []struct{ Unit, Verdict string }
		Tests []struct{ Name, Verdict string }
	}
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if len(doc.Units)+len(doc.Tests) != len(want) {
		p.t.Errorf("run %d: %+v", run, doc)
	}
	for _, u := range doc.Units {
		if want[u.Unit] != u.Verdict {
			p.t.Errorf("run %d: %s is %s, want %q", run, u.Unit, u.Verdict, want[u.Unit])
		}
	}
	for _, c := range doc.Tests {
		if want[c.Name] != c.Verdict {
			p.t.Errorf("run %d: %s is %s, want %q", run, c.Name, c.Verdict, want[c.Name])
		}
	}
}

// recipe runs the commands of the README's section on coverage that hold a word, as they stand there.
func (p *person) recipe(word string) string {
	p.t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		p.t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Coverage\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		if strings.Contains(block[1], word) {
			return p.must("sh", "-ec", block[1])
		}
	}
	p.t.Fatalf("the README's section on coverage has no recipe with %q", word)
	return ""
}

// coverageOfNyc: no batch runs all of the queue's code, together they do.
func coverageOfNyc(t *testing.T, p *person) {
	out := p.recipe("nyc merge")
	if !regexp.MustCompile(`queue\.js +\| +100 \|`).MatchString(out) {
		t.Errorf("it prints\n%s", out)
	}
}

// coverageOfGo: every package's tests ran in another batch, or at least in their own program.
func coverageOfGo(t *testing.T, p *person) {
	out := p.recipe("covdata merge")
	for _, pkg := range []string{"basket", "coupon", "money", "receipt", "shipping", "tax"} {
		if !regexp.MustCompile(`example\.com/till/` + pkg + `\s+coverage: (100|[1-9][0-9])\.[0-9]% of statements`).MatchString(out) {
			t.Errorf("nothing of %s in\n%s", pkg, out)
		}
	}
}

// reportOfPlaywright: each test of both projects is in the one report.
func reportOfPlaywright(t *testing.T, p *person) {
	out := p.recipe("merge-reports")
	for _, project := range []string{"chromium", "firefox"} {
		if n := strings.Count(out, "["+project+"] ›"); n != 10 {
			t.Errorf("%d tests of %s in\n%s", n, project, out)
		}
	}
}
