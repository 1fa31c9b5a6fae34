package boxer_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestQuickstart: twelve tests that overwrite one server's data, green only if each child has its own.
func TestQuickstart(t *testing.T) {
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "quickstart")
		p.goCaches()
		r := p.shard(0)
		if r.Totals.Tests != 12 || r.Totals.Passed != 12 || len(r.Shards) != 4 || !r.Ledger.Closed {
			t.Errorf("%+v", r)
		}
		p.clean()
		p.nothingLeft()
	})
}

// TestNodeRedis: every test flushes Redis, and the parent's data is still there afterwards.
func TestNodeRedis(t *testing.T) {
	npmInstall(t, "node-redis")
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "node-redis")
		p.must("boxer", "up")
		p.must("boxer", "run", "-c", "redis-cli set mine parent")
		r := p.shard(0)
		if r.Totals.Tests != 18 || r.Totals.Passed != 18 || !r.Ledger.Closed {
			t.Errorf("%+v", r)
		}
		if got := p.must("boxer", "run", "-c", "redis-cli get mine"); got != "parent" {
			t.Errorf("the parent's data is %q", got)
		}
		p.clean()
		p.must("boxer", "down")
		p.nothingLeft()
	})
}

// TestPostgres: each shard drops a table; two runs on one sandbox leave 100,000 rows, not 200,000 and not none.
func TestPostgres(t *testing.T) {
	npmInstall(t, "postgres")
	asEach(t, func(t *testing.T, uid int) {
		p := newPerson(t, uid, "postgres")
		p.must("boxer", "up")
		for range 2 {
			if r := p.shard(0); r.Totals.Tests != 8 || r.Totals.Passed != 8 || !r.Ledger.Closed {
				t.Errorf("%+v", r)
			}
		}
		rows := p.must("boxer", "run", "-c", "/var/tmp/shop/bin/psql -h 127.0.0.1 -U postgres -d shop -X -t -A -c 'select count(*) from orders'")
		if rows != "100000" {
			t.Errorf("the parent has %s rows", rows)
		}
		p.clean()
		p.must("boxer", "down")
		p.nothingLeft()
	})
}

// TestRunners: the boxer.yaml of these examples is what boxer init writes for each runner, and it runs every test once.
func TestRunners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		example string
		tests   int
		line    string
	}{
		{"jest", 12, "2 shards · 12 tests · each ran once"},
		{"vitest", 14, "2 shards · 14 tests · each ran once"},
		{"playwright", 10, "2 shards · 10 tests · each ran once"},
		{"mocha", 13, "2 shards · 6 units · 13 tests · each ran once"},
		{"pytest", 14, "2 shards · 6 units · 14 tests · each ran once"},
		{"gotest", 18, "2 shards · 6 units · 18 tests · each ran once"},
	} {
		t.Run(c.example, func(t *testing.T) {
			p := runnersPerson(t, c.example)
			written, err := os.ReadFile(filepath.Join("examples", c.example, "boxer.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.must("boxer", "init", "--dry-run"); got != strings.TrimSpace(string(written)) {
				t.Errorf("boxer init writes another boxer.yaml:\n%s", got)
			}
			r := p.shard(0, "--count", "2")
			if r.Totals.Tests != c.tests || r.Totals.Passed != c.tests || len(r.Shards) != 2 || !r.Ledger.Closed || r.Ledger.Line != c.line {
				t.Errorf("%+v", r)
			}
			p.clean()
			p.nothingLeft()
		})
	}
}

// TestInitForNode: Node's own runner, with its files named in the test script.
func TestInitForNode(t *testing.T) {
	t.Parallel()
	p := newPerson(t, os.Getuid(), "")
	files := map[string]string{".gitignore": "/boxer-report/\n", "package.json": `{"scripts": {"test": "node --test 'test/'"}}`}
	for _, name := range []string{"a", "b", "c", "d"} {
		files["test/"+name+".test.js"] = "require('node:test')('" + name + "', () => {});\n"
	}
	for name, text := range files {
		path := filepath.Join(p.project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p.must("boxer", "init")
	p.commit()
	if r := p.shard(0, "--count", "2"); r.Totals.Tests != 4 || r.Totals.Passed != 4 || !r.Ledger.Closed {
		t.Errorf("%+v", r)
	}
	p.clean()
	p.nothingLeft()
}

// runnersPerson has a copy of the example of a runner, with what it needs to run without a network.
func runnersPerson(t *testing.T, example string) *person {
	t.Helper()
	p := newPerson(t, os.Getuid(), "")
	switch example {
	case "gotest":
		p.goCaches()
	case "pytest":
		p.debianPython()
	default:
		npmInstall(t, example)
	}
	p.copyOf(filepath.Join("examples", example))
	if example == "gotest" { // the programs are built before, for building takes long in a sandbox
		p.must("sh", "-ec", "go test -run '^$' ./... && go test -cover -run '^$' ./... && go tool gotestsum --version")
	}
	return p
}

// debianPython puts Debian's Python first, which has Debian's pytest.
func (p *person) debianPython() { p.env = append(p.env, "PATH=/usr/bin:"+os.Getenv("PATH")) }

// copyOf makes the person's project a copy of a folder.
func (p *person) copyOf(dir string) {
	p.t.Helper()
	if err := os.CopyFS(p.project, os.DirFS(dir)); err != nil {
		p.t.Fatal(err)
	}
	chown(p.t, p.base, p.uid)
	p.commit()
}

// TestReadmeFirstCommand runs what the README says first, word for word, in a clean clone.
func TestReadmeFirstCommand(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\$ (CGO_ENABLED=0 go run .*)$`).FindSubmatch(readme)
	if line == nil {
		t.Fatal("the README has no such command")
	}
	p := newPerson(t, os.Getuid(), "")
	clone := filepath.Join(p.base, "clone")
	if out, err := exec.Command("git", "clone", "-q", ".", clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.project = clone
	p.goCaches()
	out := p.must("sh", "-c", string(line[1])+" 2>&1")
	if !strings.Contains(out, "4 shards · 12 tests · each ran once") {
		t.Errorf("it prints\n%s", out)
	}
	p.clean()
	p.nothingLeft()
}

// goCaches lets the person build from the module and build caches of who runs the tests. Another user gets a copy of
// the build cache by hard links: he may read what is there, and what he adds is his.
func (p *person) goCaches() {
	p.t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			p.t.Fatal(err)
		}
		value := strings.TrimSpace(string(out))
		if name == "GOCACHE" && p.uid != os.Getuid() {
			value = p.linkedCache(value)
		}
		p.env = append(p.env, name+"="+value)
	}
}

func (p *person) linkedCache(cache string) string {
	p.t.Helper()
	linked := filepath.Join(p.base, "gocache")
	out, err := exec.Command("cp", "--recursive", "--link", cache, linked).CombinedOutput()
	if err != nil { // another file system
		out, err = exec.Command("cp", "--recursive", cache, p.base).CombinedOutput()
		linked = filepath.Join(p.base, filepath.Base(cache))
	}
	if err == nil {
		out, err = exec.Command("find", linked, "-type", "d", "-exec", "chown", strconv.Itoa(p.uid), "{}", "+").CombinedOutput()
	}
	if err != nil {
		p.t.Fatalf("copy the build cache: %v\n%s", err, out)
	}
	return linked
}

// npmInstall brings an example's packages, as its README says, once and before the copies are made. Tests that want the
// same ones at once wait for each other: a half of them would be copied otherwise.
func npmInstall(t *testing.T, example string) {
	t.Helper()
	dir := filepath.Join("examples", example)
	lock, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return
	}
	c := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}
