package shard

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/runner"
)

// faults are the causes that an error joins, sorted.
func faults(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not joined: %v", err)
	}
	var causes []string
	for _, e := range joined.Unwrap() {
		var re *runner.Error
		if !errors.As(e, &re) || re.Fix == "" || re.Reason == "" {
			t.Errorf("not actionable: %v", e)
			continue
		}
		causes = append(causes, string(re.Cause))
	}
	slices.Sort(causes)
	return causes
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"nothing wrong", func(*Options) {}, ""},
		{"no command", func(o *Options) { o.Command = nil }, "NO_COMMAND"},
		{"a blank command", func(o *Options) { o.Command = []string{" "} }, "NO_COMMAND"},
		{"count 0", func(o *Options) { o.Count = 0 }, "BAD_COUNT"},
		{"count -1", func(o *Options) { o.Count = -1 }, "BAD_COUNT"},
		{"count 1000000", func(o *Options) { o.Count = 1000000 }, "BAD_COUNT"},
		{"node 3 of 2", func(o *Options) { o.Node = Node{3, 2} }, "BAD_NODE"},
		{"node 0 of 2", func(o *Options) { o.Node = Node{0, 2} }, "BAD_NODE"},
		{"a negative time limit", func(o *Options) { o.Timeout = -1 }, "BAD_CHOICE"},
		{"choices", func(o *Options) { o.Worktree, o.AllowEmpty, o.Reruns, o.Mode = "x", "x", "x", "x" }, "BAD_CHOICE BAD_CHOICE BAD_CHOICE BAD_CHOICE"},
		{"a test list", func(o *Options) { o.Command = []string{"jest", "<tests>"} }, "NO_TEST_LIST"},
		{"a test list in a file", func(o *Options) { o.Command = []string{"jest", "--f={tests-file}"} }, "NO_TEST_LIST"},
		{"a shell's own tests", func(o *Options) { o.Command = []string{"sh", "-c", "echo ${tests}"} }, ""},
		{"somebody's own placeholder", func(o *Options) { o.Command = []string{"x", "<foo>"} }, ""},
		{"outside", func(o *Options) {
			o.JUnit = []string{"../r.xml", "/etc/r.xml", "a/../../r.xml"}
			o.Artifacts = []string{".."}
		}, "OUTSIDE_WORKTREE OUTSIDE_WORKTREE OUTSIDE_WORKTREE OUTSIDE_WORKTREE"},
		{"two dots in a name", func(o *Options) { o.JUnit = []string{"a..b/r.xml"} }, ""},
		{"bad patterns", func(o *Options) { o.JUnit = []string{"a[.xml", "", "{a,b"} }, "BAD_PATTERN BAD_PATTERN BAD_PATTERN"},
		{"relative folders", func(o *Options) { o.Dir, o.ReportDir = "x", "y" }, "BAD_PATH BAD_PATH"},
		{"one report path for all", func(o *Options) { o.Worktree = runner.Live; o.JUnit = []string{"r.xml", "r-<i>.xml", "<n>.xml"} }, "SAME_REPORT_PATH SAME_REPORT_PATH"},
		{"one report path for one", func(o *Options) { o.Worktree, o.Count = runner.Live, 1; o.JUnit = []string{"r.xml"} }, ""},
		{"own report paths", func(o *Options) { o.Worktree = runner.Live; o.JUnit = []string{"{i}/r.xml", "<child>.xml"} }, ""},
		{"all at once", func(o *Options) { o.Command, o.Count, o.JUnit = nil, 0, []string{"../x"} }, "BAD_COUNT NO_COMMAND OUTSIDE_WORKTREE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Count: 2, Command: []string{"true"}, Base: t.TempDir()}
			tt.change(&o)
			if got := strings.Join(faults(t, o.Validate()), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheFixOfASharedReportPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"r.xml": "r-<i>.xml", "reports/**/*.xml": "reports/**/*-<i>.xml", "out": "out-<i>", "reports/": "reports/**/*-<i>.xml",
		"reports/**": "reports/**/*-<i>.xml", "reports/*": "reports/*-<i>.xml",
	} {
		if got := withIndex(in); got != want || !differs(got) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What other nodes wrote beside a node's folder is boxer's own too.
func TestOwnPathOfANode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir  string
		node Node
		want string
	}{
		{"/w/boxer-report", Node{1, 1}, "boxer-report/"},
		{"/w/boxer-report/node-2", Node{2, 5}, "boxer-report/"},
		{"/w/out/rep/node-2", Node{2, 5}, "out/rep/"},
		{"/w/node-2", Node{2, 5}, "node-2/"},
		{"/w/boxer-report/node-3", Node{2, 5}, "boxer-report/node-3/"},
		{"/elsewhere/node-2", Node{2, 5}, ""},
	} {
		o := Options{Base: "/w", ReportDir: tt.dir, Node: tt.node}
		if got := o.ownPath(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.dir, got, tt.want)
		}
	}
	o := Options{Base: "/w", Node: Node{2, 5}}.filled()
	if o.ReportDir != "/w/boxer-report/node-2" {
		t.Errorf("report folder %s", o.ReportDir)
	}
}
