package shard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

func TestOldReportsCountForNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		named   []string
		age     time.Duration
		code    int
		checked bool
	}{
		{"named, as if it were new", []string{"reports/*.xml"}, -time.Hour, 6, false},
		{"named and old", []string{"reports/*.xml"}, time.Hour, 6, false},
		{"in a usual place and old", nil, time.Hour, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.write("reports/old.xml", `<testsuite name="s"><testcase name="old"/></testsuite>`)
			then := time.Now().Add(-tt.age)
			if err := os.Chtimes(filepath.Join(m.base, "reports/old.xml"), then, then); err != nil {
				t.Fatal(err)
			}
			o := m.shell(1, "true")
			o.JUnit = tt.named
			res, err := Run(t.Context(), forking{m}, o)
			if err != nil || res.ExitCode != tt.code || res.Shards[0].Checked != tt.checked {
				t.Errorf("exit code %d, checked %v, error %v", res.ExitCode, res.Shards[0].Checked, err)
			}
			if strings.Contains(contents(t, res.ReportDir, "junit.xml"), `name="old"`) {
				t.Error("the old report was merged")
			}
			contents(t, m.base, "reports/old.xml") // the worktree's own is still there
		})
	}
}

func TestUsualPlaces(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"junit-x.xml", "reports/a/b.xml", "test-results/r.xml", "target/surefire-reports/TEST-a.xml", "build/test-results/test/a.xml"} {
		m := newMachine(t)
		o := m.shell(2, junit(place, "t<i>")+`; echo x > reports.html; mkdir -p reports; echo x > reports/index.html`)
		res, err := Run(t.Context(), forking{m}, o)
		check(t, res, err, 0, Passed, Passed)
		if res.Ledger.Line != "2 shards · 2 tests · each ran once" {
			t.Errorf("%s: %s", place, res.Ledger.Line)
		}
		contents(t, res.ReportDir, "shard-2", place)
	}
}

func TestUsualPlacesOfASubfolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("web/[app]/package.json", "{}")
	o := m.shell(2, junit("reports/r.xml", "t<i>"))
	o.Dir = filepath.Join(m.base, "web")
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if !res.Shards[0].Checked {
		t.Errorf("the report in web/reports was not found: %s", res.Ledger.Line)
	}
}

func TestNoReportGivesAHint(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("package.json", `{"scripts": {"test": "vitest run"}}`)
	var out screenOf
	o := m.shell(2, "true # npm test")
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if !strings.Contains(out.String(), "hint: vitest writes one with --reporter") {
		t.Errorf("no hint:\n%s", out.String())
	}
}

func TestArtifactsOfAFailedShard(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, `mkdir -p out/<i>; echo shot > out/<i>/shot.png; ln -s /etc/passwd out/<i>/link.txt; exit 3`)
	o.Artifacts = []string{"out/<i>/*"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Failed, Failed)
	if got := contents(t, res.ReportDir, "shard-2/out/2/shot.png"); got != "shot\n" {
		t.Errorf("artifact %q", got)
	}
	if got := fmt.Sprint(res.Shards[1].NotCollected); got != "[{out/2/link.txt symlink}]" {
		t.Errorf("not collected: %s", got)
	}
	if got := fmt.Sprint(res.Shards[1].Artifacts); got != "[shard-2/out/2/shot.png]" {
		t.Errorf("artifacts: %s", got)
	}
}

func TestAReportBehindASymlinkIsMissing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(1, junit("good.xml", "a")+`; ln -s good.xml bad.xml`)
	o.JUnit = []string{"*.xml"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 6, Failed)
}

func TestSharedMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, junit("reports/r-<i>.xml", "t<i>")+`; echo "$TEST_SHARD_STATUS_FILE"; touch "$TEST_SHARD_STATUS_FILE"`)
	o.JUnit = []string{"reports/r-<i>.xml"}
	res, err := Run(t.Context(), sharing{m}, o)
	check(t, res, err, 0, Passed, Passed)
	checkRemoved(t, m)
	if res.Ledger.Line != "2 shards · 2 tests · each ran once" {
		t.Error(res.Ledger.Line)
	}
	status := strings.TrimSpace(contents(t, res.ReportDir, "shard-1.log"))
	if _, err := os.Stat(status); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(status, res.ReportDir) {
		t.Errorf("status file %q is left: %v", status, err)
	}
}

func TestSharedMachineNeedsOwnReportPaths(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, "true")
	o.JUnit = []string{"reports/r.xml"}
	res, err := Run(t.Context(), sharing{m}, o)
	if runner.CauseOf(err) != samePath || res.ExitCode != 2 {
		t.Errorf("exit code %d, error %v", res.ExitCode, err)
	}
	if m.made != 0 {
		t.Error("a child was started")
	}
	if _, err := os.Stat(filepath.Join(m.base, "boxer-report")); err == nil {
		t.Error("the report folder was made")
	}
}

func TestSharedWorktreeTakesNoForeignReports(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, junit("reports/r.xml", "t"))
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), sharing{m}, o)
	check(t, res, err, 0, Passed, Passed)
	if res.Ledger.Line != "2 shards · not checked: no report" || !strings.Contains(out.String(), "--junit 'reports/junit-<i>.xml'") {
		t.Errorf("%s\n%s", res.Ledger.Line, out.String())
	}
}

func TestOwnReportFolderIsNoReport(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("boxer-report/.gitignore", "*\n")
	m.write("boxer-report/shard-9/old.xml", "<testsuite><testcase name='old'/></testsuite>")
	o := m.shell(1, junit("boxer-report/shard-9/r.xml", "foreign")+"; "+junit("r.xml", "mine"))
	o.JUnit = []string{"**/*.xml"}
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 0, Passed)
	if got := fmt.Sprint(res.Shards[0].Reports); got != "[shard-1/r.xml]" {
		t.Errorf("reports %s", got)
	}
	if _, err := os.Stat(filepath.Join(res.ReportDir, "shard-1", "boxer-report")); err == nil {
		t.Error("boxer's own files were collected")
	}
}
