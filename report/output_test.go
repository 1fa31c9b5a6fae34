package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestOutputReplacesOldReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junit.xml")
	report := `<testsuite><properties><property name="empty"/></properties><testcase/></testsuite>`
	if err := os.WriteFile(path, []byte(strings.Repeat("old", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge([]Attempt{attemptOf(t, 0, report)}, Options{}, path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parseMerged(t, data)
	if !strings.Contains(string(data), `<property name="empty" value="">`) {
		t.Error("a property without a value attribute")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o644 || len(entries(t, filepath.Dir(path))) != 1 {
		t.Errorf("mode %v, files %q", info.Mode(), entries(t, filepath.Dir(path)))
	}
}

// Whatever stands in the way of the file, the verdicts are known and nothing old is harmed.
func TestOutputNotWritten(t *testing.T) {
	dir := t.TempDir()
	link, folder := filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, folder, filepath.Join(dir, "no", "such", "folder", "x.xml")} {
		r, err := Merge([]Attempt{attemptOf(t, 1, failing)}, Options{}, path)
		if err == nil || r.Failures != 1 || len(r.Failed) != 1 {
			t.Errorf("%s: error %v, result %+v", path, err, r.Totals)
		}
	}
	if got := entries(t, dir); len(got) != 2 {
		t.Errorf("left behind: %q", got)
	}
}

// A disk that fills up on the way is played by a file that is closed under the writer's feet.
func TestOutputBreaksOnTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junit.xml")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOutput(path, Options{})
	o.file.Close()
	if err := o.commit(Totals{}); err == nil {
		t.Error("no error")
	}
	data, _ := os.ReadFile(path)
	if string(data) != "old" || len(entries(t, filepath.Dir(path))) != 1 {
		t.Errorf("the old report is %q, files %q", data, entries(t, filepath.Dir(path)))
	}
}

func TestNoPathCountsOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	r, err := Merge([]Attempt{attemptOf(t, 1, failing)}, Options{}, "")
	if err != nil || r.Failures != 1 || len(entries(t, ".")) > 0 {
		t.Errorf("error %v, result %+v, files %q", err, r.Totals, entries(t, "."))
	}
}

func TestRoundTrip(t *testing.T) {
	wants, err := filepath.Glob(casesDir + "/*.want.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		name := strings.TrimSuffix(filepath.Base(want), ".want.json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := filepath.Join(t.TempDir(), "1.xml"), filepath.Join(t.TempDir(), "2.xml")
			before, err := Merge(readWanted(t, want).attempts(name), Options{}, first)
			if err != nil {
				t.Fatal(err)
			}
			again := Attempt{Shard: 1, Of: 1, Attempt: 1, Exit: 1, Configured: true, Merged: true, Reports: []File{{Path: first, Name: "1.xml"}}}
			if before.Bad() == 0 {
				again.Exit = 0
			}
			after, err := Merge([]Attempt{again}, Options{}, second)
			if after.Seconds = before.Seconds; err != nil || after.Totals != before.Totals { // of seconds the files tell
				t.Errorf("totals %+v, then %+v (%v)", before.Totals, after.Totals, err)
			}
			one, err1 := os.ReadFile(first)
			two, err2 := os.ReadFile(second)
			if err1 != nil || err2 != nil || string(one) != string(two) {
				t.Errorf("a merged report is not merged to itself:\n%s\n%s", one, two)
			}
		})
	}
}
