package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// rival is another program that merges JUnit reports.
type rival struct {
	name  string
	merge func(to string, files []string) *exec.Cmd
}

// python is Debian's, for which its packages are.
const python = "/usr/bin/python3"

// junitparser is that of Debian's python3-junitparser. The error tells how to get it.
func junitparser() (rival, error) {
	if out, err := exec.Command(python, "-c", "import junitparser").CombinedOutput(); err != nil {
		return rival{}, fmt.Errorf("this needs junitparser: apt-get install --no-install-recommends python3-junitparser (%v %s)", err, out)
	}
	return rival{"junitparser", func(to string, files []string) *exec.Cmd {
		return exec.Command(python, append(append([]string{"-m", "junitparser", "merge"}, files...), to)...)
	}}, nil
}

// junitReportMerger is npm's, of the version in testdata/rivals.
func junitReportMerger(tb testing.TB) (rival, error) {
	dir := tb.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join("testdata/rivals", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return rival{}, err
		}
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return rival{}, fmt.Errorf("this needs junit-report-merger, which npm brings (Node.js 20 or later): npm ci: %v\n%s", err, out)
	}
	return rival{"junit-report-merger", func(to string, files []string) *exec.Cmd {
		return exec.Command(filepath.Join(dir, "node_modules/.bin/jrm"), append([]string{to}, files...)...)
	}}, nil
}

// both gives both of them, or ends the test.
func both(t *testing.T) (parser, merger rival) {
	t.Helper()
	parser, err := junitparser()
	if err != nil {
		t.Fatal(err)
	}
	if merger, err = junitReportMerger(t); err != nil {
		t.Fatal(err)
	}
	return parser, merger
}

// childPeak is good for programs that need more than this one, whose own peak is in it.
func childPeak(cmd *exec.Cmd) int64 {
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// countWith lets junitparser count the cases of a report, not read the numbers in it.
func countWith(t *testing.T, path string) Counts {
	t.Helper()
	const script = `import sys, junitparser
x = junitparser.JUnitXml.fromfile(sys.argv[1])
x.update_statistics()
print(x.tests, x.failures, x.errors, x.skipped)`
	out, err := exec.Command(python, "-c", script, path).CombinedOutput()
	if err != nil {
		t.Fatalf("junitparser: %v\n%s", err, out)
	}
	var c Counts
	if _, err := fmt.Sscan(string(out), &c.Tests, &c.Failures, &c.Errors, &c.Skipped); err != nil {
		t.Fatal(err)
	}
	return c
}

func lint(path string) error {
	if out, err := exec.Command("xmllint", "--noout", "--nonet", path).CombinedOutput(); err != nil {
		return fmt.Errorf("xmllint (apt-get install libxml2-utils): %w\n%s", err, out)
	}
	return nil
}

// The merged report of each case is well-formed, and of one count for boxer and for both other programs.
func TestMergedReadsBack(t *testing.T) {
	parser, merger := both(t)
	wants, err := filepath.Glob(casesDir + "/*.want.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all []string
	var sum Totals
	for _, want := range wants {
		name := strings.TrimSuffix(filepath.Base(want), ".want.json")
		path := filepath.Join(dir, name+".xml")
		r, err := Merge(readWanted(t, want).attempts(name), Options{}, path)
		if err != nil {
			t.Fatal(err)
		}
		all, sum = append(all, path), sum.plus(r.Totals)
		if err := lint(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	counts := Counts{sum.Tests, sum.Failures, sum.Errors, sum.Skipped}
	for _, by := range []rival{parser, merger} {
		to := filepath.Join(dir, by.name+".merged")
		measured(t, by.merge(to, all))
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if got := rootCounts(t, data); got != counts {
			t.Errorf("%s says %+v of boxer's reports, boxer %+v", by.name, got, counts)
		}
	}
	// Not of what junit-report-merger wrote: it makes a control character of the text `&#27;`.
	if got := countWith(t, filepath.Join(dir, parser.name+".merged")); got != counts {
		t.Errorf("junitparser counts %+v in boxer's reports, boxer says %+v", got, counts)
	}
}

// What the other programs lose or get wrong, and boxer does not. A row says what is seen of each; "refused" is that
// nothing is written, so the reports that were well are lost too. If one of them is mended, its row can change.
func TestWhatOthersLose(t *testing.T) {
	parser, merger := both(t)
	const well = `<testsuite name="well" tests="1" failures="0" errors="0" skipped="0"><testcase name="w" classname="c"/></testsuite>`
	for _, row := range []struct {
		name, report          string
		boxer, parser, merger string // tests/bad as the merged report says
	}{
		{"as both can", `<testsuite name="s" tests="2" failures="1" errors="0" skipped="0"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>`,
			"3/1", "3/1", "3/1"},
		{"a report without counts", `<testsuite name="s"><testcase name="a"><failure/></testcase></testsuite>`,
			"2/1", "2/1", "1/0"},
		{"wrong counts", `<testsuite name="s" tests="9" failures="0"><testcase name="a"><failure/></testcase></testsuite>`,
			"2/1", "2/1", "10/0"},
		{"a case outside of any suite", `<testsuites><testcase name="a"><failure/></testcase></testsuites>`,
			"2/1", "1/0", "1/0"},
		{"a failure of a whole suite", `<testsuite name="s" tests="0"><error message="cannot compile"/></testsuite>`,
			"2/1", "1/0", "1/0"},
		{"a colour in a message", `<testsuite name="s" tests="1" failures="1"><testcase name="a"><failure message="&#27;[31mno"/></testcase></testsuite>`,
			"2/1", "refused", "2/1, no XML"},
		{"a report that was cut off", `<testsuite name="s" tests="1"><testcase name="a"><failure mess`,
			"3/2", "refused", "refused"},
		{"an empty file", ``,
			"2/1", "refused", "1/0"},
		{"an encoding that is not what it says", `<?xml version="1.0" encoding="UTF-16"?><testsuite name="s" tests="1" failures="1"><testcase name="a"><failure/></testcase></testsuite>`,
			"2/1", "refused", "2/1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			files := []string{filepath.Join(dir, "a.xml"), filepath.Join(dir, "b.xml")}
			for i, text := range []string{well, row.report} {
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			boxer := rival{"boxer", func(to string, files []string) *exec.Cmd {
				return startMode("merge", append([]string{to}, files...)...)
			}}
			for _, by := range []struct {
				rival
				want string
			}{{boxer, row.boxer}, {parser, row.parser}, {merger, row.merger}} {
				to := filepath.Join(dir, by.name+".out")
				if got := outcome(t, by.merge(to, files), to); got != by.want {
					t.Errorf("%s: %q, want %q", by.name, got, by.want)
				}
			}
		})
	}
}

// outcome is `tests/bad` as the merged report says.
func outcome(t *testing.T, cmd *exec.Cmd, to string) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	data, unread := os.ReadFile(to)
	if err != nil && unread != nil {
		return "refused"
	}
	if err != nil || unread != nil {
		t.Fatalf("%v, %v\n%s", err, unread, out)
	}
	c := rootCounts(t, data)
	said := fmt.Sprintf("%d/%d", c.Tests, c.Failures+c.Errors)
	if lint(to) != nil {
		said += ", no XML"
	}
	return said
}
