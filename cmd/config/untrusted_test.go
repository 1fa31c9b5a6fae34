package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

const aFork = "the change comes from the fork some/app"

// untrusted is project for a change of a stranger.
func untrusted(t *testing.T, yaml string) Request {
	t.Helper()
	r := project(t, yaml)
	r.Untrusted = aFork
	return r
}

const wide = `env: [CI, LC_ALL, "NODE_ENV=test", DB_TOKEN, "APP_*"]
hide: [local]
show:
  - ~/.ssh
smolvm:
  image: ./rootfs/
  network: true
  memory: 512
shard: {count: 3, worktree: shared, junit: [a.xml]}
`

func TestUntrustedFileLosesWhatWidens(t *testing.T) {
	t.Parallel()
	got, err := Load(untrusted(t, wide))
	if err != nil {
		t.Fatal(err)
	}
	want := []Dropped{
		{"env", []string{"DB_TOKEN", "APP_*"}, "boxer.yaml:1", "not let in", "--env NAME"},
		{"show", []string{"~/.ssh"}, "boxer.yaml:4", "stays hidden", "--trust show"},
		{"shard.worktree", []string{"shared"}, "boxer.yaml:9", "private instead", "--worktree shared"},
		{"smolvm.image", []string{"./rootfs/"}, "boxer.yaml:6", "not used", "--trust smolvm.image"},
		{"smolvm.network", []string{"true"}, "boxer.yaml:7", "no network", "--trust smolvm.network"},
	}
	if !reflect.DeepEqual(got.Dropped, want) {
		t.Errorf("dropped\n%+v", got.Dropped)
	}
	if got.Untrusted != aFork || len(got.Show) != 0 || got.Shard.Worktree != runner.Private || got.Smolvm.Image != "" || got.Smolvm.Network {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.Env, []string{"CI", "LC_ALL", "NODE_ENV=test"}) {
		t.Errorf("env %q", got.Env)
	}
	if got.Smolvm.Memory != 512 || got.Shard.Count != 3 || len(got.Hide) != 1 || len(got.Shard.JUnit) != 1 {
		t.Errorf("the rest does not count: %+v", got)
	}
	if o := originOf(got, "shard.worktree"); o.Value != "private" || o.Source != "default" {
		t.Errorf("origin %+v", o)
	}
}

func TestTrustedFileKeepsAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, flag, variable string }{
		{"--trust all", "all", ""},
		{"BOXER_TRUST", "", "all"},
		{"every key by name", "env,show,shard.worktree, smolvm.image,smolvm.network", ""},
		{"every key by a line", "", "env\nshow\nshard.worktree\nsmolvm.image\nsmolvm.network\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := untrusted(t, wide)
			if c.flag != "" {
				r.Flags["trust"] = []string{c.flag}
			}
			r.Env = append(r.Env, "BOXER_TRUST="+c.variable)
			got, err := Load(r)
			if err != nil || len(got.Dropped) > 0 || len(got.Env) != 5 || len(got.Show) != 1 || got.Shard.Worktree != runner.Live ||
				got.Smolvm.Image != "./rootfs/" || !got.Smolvm.Network {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// What the workflow says itself is neither dropped nor told.
func TestWorkflowOverridesEach(t *testing.T) {
	t.Parallel()
	r := untrusted(t, "backend: host\nenv: [A, B]\nshard: {worktree: shared}\n")
	r.Flags["worktree"] = []string{"shared"}
	r.Flags["env"] = []string{"A"}
	r.Env = append(r.Env, "BOXER_BACKEND=host")
	got, err := Load(r)
	if err != nil || got.Backend != "host" || got.Shard.Worktree != runner.Live || !slices.Equal(got.Env, []string{"A"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(got.Dropped) != 1 || !slices.Equal(got.Dropped[0].Values, []string{"B"}) {
		t.Errorf("dropped %+v", got.Dropped)
	}
	r.Env, r.Flags["trust"] = r.Env[:1], []string{"backend"}
	if got, err := Load(r); err != nil || got.Backend != "host" {
		t.Errorf("--trust backend: %+v, %v", got, err)
	}
}

func TestHostInUntrustedFileIsRefused(t *testing.T) {
	t.Parallel()
	r := untrusted(t, "backend: host\n")
	_, err := Load(r)
	var f Faults
	if !errors.As(err, &f) || len(f) != 1 || f[0].Refusal == nil {
		t.Fatalf("got %v", err)
	}
	e := f[0].Refusal
	if e.Cause != runner.UntrustedConfig || e.Worktree != r.Dir || e.Scope == "" || f[0].Flag != "--backend auto" {
		t.Errorf("got %+v", f[0])
	}
	if want := "boxer.yaml:1: backend: host gives up all isolation, and the file is not trusted: " + aFork; e.Reason != want {
		t.Errorf("got  %s\nwant %s", e.Reason, want)
	}
	r.Flags["count"] = []string{"x"}
	if _, err := Load(r); !errors.As(err, &f) || len(f) != 2 {
		t.Errorf("other faults are told with it: %v", err)
	}
	for _, backend := range []string{"auto", "gvisor", "smolvm"} {
		if got, err := Load(untrusted(t, "backend: "+backend)); err != nil || got.Backend != backend || len(got.Dropped) > 0 {
			t.Errorf("%s: %+v, %v", backend, got, err)
		}
	}
}

// Every key of the file has been looked at for what it gives to a stranger. Who adds one decides: a key that reaches
// beyond the sandbox belongs to guarded and into distrust, any other into the list below.
func TestEveryKeyIsJudged(t *testing.T) {
	t.Parallel()
	harmless := []string{
		"hide",                   // takes away
		"shard.count",            // memory and a limit bound it
		"shard.command", "setup", // run in the sandbox, no shell of the host reads them
		"shard.junit", "shard.artifacts", // confined to the worktree
		"shard.tests", "shard.list", // names of files that the sandbox sees anyway; a line that runs in it
		"shard.retries", "shard.timeout", "shard.unit_timeout", // the job has a time limit of its own
		"shard.allow_empty", "shard.reruns", // judge the stranger's own tests
		"shard.empty_exit_codes", //
	}
	for _, s := range settings {
		if !s.fileless && slices.Contains(harmless, s.key) == slices.Contains(guarded, s.key) {
			t.Errorf("%s: is it guarded or harmless?", s.key)
		}
	}
}

// The file is what a machine is made from, and its fields are no settings.
func TestEveryKeyOfMachinesIsJudged(t *testing.T) {
	t.Parallel()
	want := []string{"Image", "CPUs", "Memory", "Network", "Setup", "Exclude"} // Setup runs in the machine, Exclude takes away
	var got []string
	for f := range reflect.TypeFor[runner.MachineConfig]().NumField() {
		got = append(got, reflect.TypeFor[runner.MachineConfig]().Field(f).Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("smolvm has the keys %q: what may a stranger's file say in the new ones?", got)
	}
}

func TestImagesOfUntrustedFiles(t *testing.T) {
	t.Parallel()
	for image, kept := range map[string]bool{
		"node": true, "node:22": true, "node:22-slim": true, "library/node": true, "ghcr.io/a/b_c/d__e:v1.2": true,
		"localhost:5000/x": true, "node@sha256:0123abc": true,
		"/": false, "./rootfs/": false, ".": false, "..": false, "-": false, "~": false, "~/x": false, "../x.tar": false,
		"x.tar": false, "x.TAR.GZ": false, "a/../../etc": false, "a/": false, "a//b": false, "--net": false, "a b": false,
		"file:///etc": false, "there": false, "sub/there": false,
	} {
		r := untrusted(t, "smolvm: {image: '"+image+"'}")
		write(t, filepath.Join(r.Dir, "sub/there"), "")
		if err := os.Symlink("/", filepath.Join(r.Dir, "there")); err != nil {
			t.Fatal(err)
		}
		got, err := Load(r)
		if err != nil || (got.Smolvm.Image == image) != kept || (len(got.Dropped) == 0) != kept {
			t.Errorf("%q: image %q, dropped %+v, %v", image, got.Smolvm.Image, got.Dropped, err)
		}
	}
}

// A wrong entry is the same fault for everybody, else it would be found by the next trusted run.
func TestFaultsOfUntrustedFilesStay(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"env: ['*']", "env: [GITHUB_TOKEN]", "env: ['1A']", "shard: {worktree: shard}", "bakend: host"} {
		if _, err := Load(untrusted(t, yaml)); err == nil {
			t.Errorf("%s is accepted", yaml)
		}
	}
}

func TestTrustWords(t *testing.T) {
	t.Parallel()
	r := project(t, "")
	r.Flags["trust"] = []string{"al"}
	if _, err := Load(r); err == nil || !strings.Contains(err.Error(), `--trust: "al" is not one of auto, all, none`) {
		t.Errorf("got %v", err)
	}
	r = project(t, "env: [A]")
	r.Flags["trust"] = []string{"none"}
	got, err := Load(r)
	if err != nil || got.Untrusted != "--trust says so" || len(got.Dropped) != 1 {
		t.Errorf("none: %+v, %v", got, err)
	}
	if _, err := Load(project(t, "trust: all")); err == nil {
		t.Error("a file vouches for itself")
	}
}

// Who names a file that lies elsewhere answers for it; a path that goes through the worktree may lead anywhere.
func TestNamedFileOfTheWorkflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		file    func(r Request, outside string) string
		trusted bool
		fault   string
	}{
		{"elsewhere", func(_ Request, outside string) string { return filepath.Join(outside, "own.yaml") }, true, ""},
		{"elsewhere by a relative path", func(r Request, outside string) string {
			rel, _ := filepath.Rel(r.Dir, filepath.Join(outside, "own.yaml"))
			return rel
		}, true, ""},
		{"in the worktree", func(Request, string) string { return "sub/theirs.yaml" }, false, ""},
		{"in the worktree, by its whole path", func(r Request, _ string) string { return filepath.Join(r.Dir, "sub/theirs.yaml") }, false, ""},
		{"in the worktree, by a link from elsewhere", func(_ Request, outside string) string { return filepath.Join(outside, "in/sub/theirs.yaml") }, false, ""},
		{"a link in the worktree to elsewhere", func(Request, string) string { return "link.yaml" }, false, "is a symlink that leaves the worktree"},
		{"a folder in the worktree that leads elsewhere", func(Request, string) string { return "out/own.yaml" }, false, "is a symlink that leaves the worktree"},
		{"the same by a link from elsewhere", func(_ Request, outside string) string { return filepath.Join(outside, "in/out/own.yaml") }, false, "is a symlink that leaves the worktree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := untrusted(t, "")
			outside, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(outside, "own.yaml"), "env: [A]")
			write(t, filepath.Join(r.Dir, "sub/theirs.yaml"), "env: [A]")
			for link, to := range map[string]string{
				filepath.Join(outside, "in"): r.Dir, filepath.Join(r.Dir, "out"): outside,
				filepath.Join(r.Dir, "link.yaml"): filepath.Join(outside, "own.yaml"),
			} {
				if err := os.Symlink(to, link); err != nil {
					t.Fatal(err)
				}
			}
			r.File = c.file(r, outside)
			got, err := Load(r)
			if c.fault != "" {
				var f Faults
				if !errors.As(err, &f) || len(f) != 1 || !strings.Contains(f[0].What, c.fault) || f[0].Refusal.Cause != runner.UntrustedConfig {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || (got.Untrusted == "") != c.trusted || (len(got.Dropped) == 0) != c.trusted {
				t.Errorf("untrusted %q, dropped %+v, %v", got.Untrusted, got.Dropped, err)
			}
			r.Flags["trust"] = []string{"none"}
			if got, err := Load(r); err != nil || len(got.Dropped) != 1 {
				t.Errorf("--trust none: %+v, %v", got, err)
			}
		})
	}
}

// boxer reads the file outside of the sandbox and quotes it in complaints, so it must not read there for a stranger.
func TestUntrustedSymlinkIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "machine example.com password hush-hush")
	for to, refused := range map[string]bool{outside: true, ".git/config": true, "sub/inside.yaml": false} {
		r := untrusted(t, "")
		write(t, filepath.Join(r.Dir, ".git/config"), "hush-hush")
		write(t, filepath.Join(r.Dir, "sub/inside.yaml"), "shard: {count: 2}")
		if err := os.Symlink(to, filepath.Join(r.Dir, FileName)); err != nil {
			t.Fatal(err)
		}
		_, err := Load(r)
		if (err != nil) != refused || (err != nil && strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: %v", to, err)
		}
		r.Untrusted = ""
		if _, err := Load(r); refused && (err == nil || !strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s, trusted: %v", to, err)
		}
	}
}
