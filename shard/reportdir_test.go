package shard

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

func TestABusyReportFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, "echo ready; read x < gate")
	if err := syscall.Mkfifo(filepath.Join(m.base, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out screenOf
	o.Out = &out
	ready := out.when("ready", 1)
	first := make(chan Result)
	go func() {
		res, _ := Run(t.Context(), sharing{m}, o)
		first <- res
	}()
	<-ready
	other := m.shell(1, "true")
	res, err := Run(t.Context(), sharing{m}, other)
	if runner.CauseOf(err) != runner.IsBusy || res.ExitCode != 125 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	if err := os.WriteFile(filepath.Join(m.base, "gate"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	check(t, <-first, nil, 0, Passed)
}

func TestReportFolderIsChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, o *Options)
		ok   bool
	}{
		{"absent", func(*testing.T, *Options) {}, true},
		{"absent, with its parents", func(t *testing.T, o *Options) { o.ReportDir = filepath.Join(o.Base, "a/b/node-2") }, true},
		{"empty", func(t *testing.T, o *Options) { mkdir(t, o.ReportDir) }, true},
		{"of an earlier run", func(t *testing.T, o *Options) {
			put(t, o.ReportDir, ".gitignore", "*\n")
			put(t, o.ReportDir, "junit.xml", "x")
		}, true},
		{"of other nodes", func(t *testing.T, o *Options) { put(t, o.ReportDir, "node-2/junit.xml", "x") }, true},
		{"a folder of the user's", func(t *testing.T, o *Options) { put(t, o.ReportDir, "index.html", "x") }, false},
		{"a project", func(t *testing.T, o *Options) { put(t, o.ReportDir, ".gitignore", "node_modules\n") }, false},
		{"a file", func(t *testing.T, o *Options) { put(t, o.Base, "boxer-report", "x") }, false},
		{"a symlink", func(t *testing.T, o *Options) { symlink(t, t.TempDir(), o.ReportDir) }, false},
		{"below a symlink", func(t *testing.T, o *Options) {
			symlink(t, t.TempDir(), o.ReportDir)
			o.ReportDir = filepath.Join(o.ReportDir, "node-2")
		}, false},
		{"a pipe", func(t *testing.T, o *Options) {
			if err := syscall.Mkfifo(o.ReportDir, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Count: 1, Command: []string{"true"}, Base: t.TempDir()}
			o.ReportDir = filepath.Join(o.Base, "boxer-report")
			tt.make(t, &o)
			before := tree(t, o.Base)
			err := o.Validate()
			if (err == nil) != tt.ok {
				t.Errorf("error: %v", err)
			}
			if after := tree(t, o.Base); after != before {
				t.Errorf("looking changed the folder:\n%s\n%s", before, after)
			}
			if err != nil {
				faults(t, err)
			}
		})
	}
}

func TestReportFolderOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	o := Options{Base: t.TempDir()}.filled()
	for _, name := range []string{".gitignore", "junit.xml", "index.html", "result.json", "flaky.json", "shard-1.log", "shard-12/a/b.xml", ".boxer-123.tmp", ".shard-1.status"} {
		put(t, o.ReportDir, name, "*\n")
	}
	outside := t.TempDir()
	put(t, outside, "precious", "x")
	symlink(t, outside, filepath.Join(o.ReportDir, "shard-3"))
	for _, name := range []string{"timings.json", "notes.txt", "shard-x", "node-2/junit.xml"} {
		put(t, o.ReportDir, name, "keep")
	}
	d, err := openReportDir(o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if got, want := tree(t, o.ReportDir), ".gitignore node-2/junit.xml notes.txt shard-x timings.json"; got != want {
		t.Errorf("left: %s\nwant: %s", got, want)
	}
	contents(t, outside, "precious")
	if _, err := openReportDir(o); runner.CauseOf(err) != runner.IsBusy {
		t.Errorf("a second run was let in: %v", err)
	}
}

func TestAReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	put(t, elsewhere, "junit.xml", "precious")
	for name, line := range map[string]string{
		"its place is taken":                  "mkdir boxer-report/junit.xml",
		"the folder is replaced by a symlink": "mv boxer-report away && ln -s " + elsewhere + " boxer-report",
		"the folder is gone":                  "mv boxer-report away",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			var out screenOf
			o := m.shell(1, junit("r-1.xml", "a")+"; "+line)
			o.Out, o.JUnit = &out, []string{"r-<i>.xml"}
			res, err := Run(t.Context(), sharing{m}, o)
			if runner.CauseOf(err) != "REPORT_NOT_WRITTEN" || res.ExitCode != 125 {
				t.Errorf("exit code %d, error %v", res.ExitCode, err)
			}
			checkRemoved(t, m)
			if !strings.Contains(out.String(), "1 shard · ") {
				t.Errorf("no summary:\n%s", out.String())
			}
			if got := tree(t, elsewhere) + contents(t, elsewhere, "junit.xml"); got != "junit.xmlprecious" {
				t.Errorf("something was written elsewhere: %s", got)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(filepath.Join(dir, name)))
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// tree is all files below the folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, rel)
		}
		return err
	})
	return strings.Join(all, " ")
}
