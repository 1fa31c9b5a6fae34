package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

// node is the result of one node of n with one shard of so many passed tests, as a run gives it.
func node(index, n, tests int) Result {
	start := time.Date(2026, 3, 4, 9, index, 0, 0, time.UTC)
	return Result{
		Node: Node{index, n}, RunID: RunID{"77", "1"}, Count: 1, Configured: true, Started: start, Wall: time.Duration(index) * time.Second,
		Ledger: Ledger{Closed: true, Line: "x"},
		Shards: []Shard{{
			Number: index, Of: n, Node: index, State: Passed, Checked: true, Log: logOf(index), Started: start,
			Totals:   report.Totals{Tests: tests, Passed: tests},
			Identity: Identity{tests, 1, fmt.Sprintf("%032d", index)},
		}},
		Report: report.Result{Totals: report.Totals{Tests: tests, Passed: tests}},
	}
}

// putNode writes a node's folder: the result, and a report that fits its first shard.
func putNode(t *testing.T, dir string, res Result) {
	t.Helper()
	doc, err := res.JSON()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, resultFile, string(doc))
	var b strings.Builder
	for _, s := range res.Shards {
		fmt.Fprintf(&b, `<testsuite name="s"><properties><property name="boxer.shard" value="%d/%d"/></properties>`, s.Number, s.Of)
		for i := range s.Tests {
			result := ""
			switch {
			case i < s.Failures:
				result = `<failure message="no"/>`
			case i < s.Failures+s.Errors:
				result = `<error message="no test ran" type="boxer.no-tests"/>`
			}
			fmt.Fprintf(&b, `<testcase classname="c" name="t%d of %d">%s</testcase>`, i, s.Number, result)
		}
		b.WriteString(`</testsuite>`)
	}
	text := b.String()
	if len(res.Report.ErrorCases) > 0 {
		text = strings.ReplaceAll(text, `name="s"`, `name="boxer"`)
	}
	put(t, dir, mergedFile, "<testsuites>"+text+"</testsuites>")
	for _, s := range res.Shards {
		put(t, dir, s.Log, "log")
	}
}

// joined merges folders of base into base/out.
func joined(t *testing.T, base string, folders ...string) (Result, error, string) {
	t.Helper()
	var said strings.Builder
	o := MergeOptions{Dir: filepath.Join(base, "out"), Base: base, Out: io.Discard, Say: func(f string, args ...any) { fmt.Fprintf(&said, f+"\n", args...) }}
	for _, f := range folders {
		o.Folders = append(o.Folders, filepath.Join(base, f))
	}
	res, err := Merge(t.Context(), o)
	return res, err, said.String()
}

// causes are those of all errors, in order.
func causes(err error) string {
	var all []string
	var walk func(error)
	walk = func(err error) {
		if j, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range j.Unwrap() {
				walk(e)
			}
			return
		}
		if err != nil {
			all = append(all, string(runner.CauseOf(err)))
		}
	}
	walk(err)
	return strings.Join(all, " ")
}

// A node's folder is found where people and CI systems put it.
func TestNodesAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		at      [2]string // where the two nodes lie
		folders []string
		want    string // causes
	}{
		{"named by themselves", [2]string{"a", "b"}, []string{"a", "b"}, ""},
		{"in a report folder", [2]string{"boxer-report/node-1", "boxer-report/node-2"}, []string{"boxer-report"}, ""},
		{"artifacts of one name each", [2]string{"art/report-1/node-1", "art/report-2/node-2"}, []string{"art"}, ""},
		{"artifacts with whole paths", [2]string{"art/r1/boxer-report/node-1", "art/r2/boxer-report/node-2"}, []string{"art"}, ""},
		{"artifacts named as nodes", [2]string{"art/node-1/boxer-report/node-1", "art/node-2/boxer-report/node-2"}, []string{"art"}, ""},
		{"too deep to be meant", [2]string{"a", "art/1/2/3/4/5"}, []string{"a", "art"}, "RESULT_MISSING NODE_MISSING"},
		{"named twice", [2]string{"a", "b"}, []string{"a", "b", "a", "b/."}, ""},
		{"beside each other, one named", [2]string{"a", "b"}, []string{"a"}, "NODE_MISSING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			putNode(t, filepath.Join(base, tt.at[0]), node(1, 2, 3))
			putNode(t, filepath.Join(base, tt.at[1]), node(2, 2, 4))
			res, err, _ := joined(t, base, tt.folders...)
			if causes(err) != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if tt.want == "" && (res.ExitCode != 0 || res.Report.Tests != 7 || len(res.Shards) != 2 || res.Wall != 2*time.Second) {
				t.Errorf("exit code %d, %+v", res.ExitCode, res.Report.Totals)
			}
		})
	}
}

// What tests left in a node's folder says nothing about nodes.
func TestArtifactsAreNoNodes(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	putNode(t, filepath.Join(base, "a"), node(1, 1, 1))
	put(t, base, "a/shard-1/out/result.json", `{"schema": 9}`)
	put(t, base, "a/extra/result.json", "no JSON")
	put(t, base, "a/notes.txt", "x")
	symlink(t, base, filepath.Join(base, "a/shard-1/loop"))
	res, err, _ := joined(t, base, "a")
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("exit code %d, %v", res.ExitCode, err)
	}
	if got, want := tree(t, filepath.Join(base, "out/node-1")), "junit.xml result.json shard-1/out/result.json shard-1.log"; got != want {
		t.Errorf("copied %s, want %s", got, want)
	}
}

func TestResultsThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, to, want string }{
		"no node":             {`"total": 2`, `"total": 0`, "it says no node"},
		"a million nodes":     {`"total": 2`, `"total": 1000000`, "1000000 nodes of 1 shards are too many"},
		"a node that is none": {`"index": 1`, `"index": 3`, "there is no node 3 of 2"},
		"another count":       {`"count": 1`, `"count": 2`, "it says 2 shards and holds 1"},
		"another shard":       {`"number": 1`, `"number": 2`, "shard 2 of 2 is none of node 1 of 2"},
		"a new state":         {`"state": "passed"`, `"state": "resting"`, `shard 1 has the state "resting"`},
		"a path outside":      {`"log": "shard-1.log"`, `"log": "../../etc/passwd"`, "shard 1 names a file outside of the folder"},
		"another type":        {`"seed": 0`, `"seed": "x"`, "cannot unmarshal"},
		"one before nodes":    {"", `{"schema": 1, "exit_code": 0, "shards": []}`, "it says no node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			putNode(t, filepath.Join(base, "b"), node(2, 2, 1))
			putNode(t, filepath.Join(base, "a"), node(1, 2, 1))
			doc := contents(t, base, "a", resultFile)
			changed := strings.Replace(doc, tt.from, tt.to, 1)
			if tt.from == "" {
				changed = tt.to
			}
			if changed == doc {
				t.Fatal("nothing was changed")
			}
			put(t, base, "a/"+resultFile, changed)
			res, err, _ := joined(t, base, "a", "b")
			if causes(err) != "RESULT_UNREADABLE NODE_MISSING" || !strings.Contains(err.Error(), tt.want) || res.ExitCode != exitBroken {
				t.Errorf("exit code %d, %v", res.ExitCode, err)
			}
			if res.Report.Errors != 1 || !strings.Contains(contents(t, base, "out", mergedFile), `name="node 1/2"`) {
				t.Errorf("no error stands for the node: %+v", res.Report.Totals)
			}
		})
	}
}

func TestWhichAttemptCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		first, next RunID
		tests       int // of the node that counts: 10 of the first, 20 of the next; 0: refused
	}{
		{"the higher one", RunID{"7", "1"}, RunID{"7", "2"}, 20},
		{"numbers, not texts", RunID{"7", "10"}, RunID{"7", "9"}, 10},
		{"by the start where none is counted", RunID{"7", ""}, RunID{"7", ""}, 20},
		{"one attempt twice", RunID{"7", "1"}, RunID{"7", "1"}, 0},
		{"two runs", RunID{"7", "1"}, RunID{"8", "2"}, 0},
		{"no CI system", RunID{}, RunID{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			other, first, next := node(1, 2, 1), node(2, 2, 10), node(2, 2, 20)
			other.RunID, first.RunID, next.RunID = tt.first, tt.first, tt.next
			next.Started = next.Started.Add(time.Hour)
			putNode(t, filepath.Join(base, "one"), other)
			putNode(t, filepath.Join(base, "late"), next)
			putNode(t, filepath.Join(base, "early"), first)
			res, err, said := joined(t, base, "one", "late", "early")
			if tt.tests == 0 {
				if causes(err) != "NODE_TWICE" && causes(err) != "NODE_TWICE DIFFERENT_RUNS" || res.ExitCode != exitOpenLedger {
					t.Errorf("exit code %d, %v", res.ExitCode, err)
				}
				return
			}
			if err != nil || res.Report.Tests != 1+tt.tests || !strings.Contains(said, "node 2 of 2: ") || len(res.Warnings) != 1 {
				t.Errorf("%d tests, %v, said %q, warnings %q", res.Report.Tests, err, said, res.Warnings)
			}
		})
	}
}

// The exit code is that of a run that had all the shards.
func TestExitCodeOfNodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(r *Result, s *Shard) // of the second of two nodes
		want   int
	}{
		{"all passed", func(*Result, *Shard) {}, 0},
		{"a test failed", func(r *Result, s *Shard) {
			r.ExitCode, s.State, s.Exit = 1, Failed, 1
			s.Failures, s.Passed = 1, s.Passed-1
		}, exitFailed},
		{"a shard was lost", func(r *Result, s *Shard) { r.ExitCode, s.State = 125, Lost }, exitBroken},
		{"a shard ran too long", func(r *Result, s *Shard) { r.ExitCode, s.State = 124, TimedOut }, exitTimedOut},
		{"a node was interrupted", func(r *Result, s *Shard) { r.ExitCode, s.State = 143, Cancelled }, exitBroken},
		{"a node failed to clean up", func(r *Result, s *Shard) { r.ExitCode = 125 }, exitBroken},
		{"the same tests as the first", func(r *Result, s *Shard) { s.Identity = node(1, 2, 3).Shards[0].Identity }, exitOpenLedger},
		{"the same few tests, which name no file", func(r *Result, s *Shard) { s.Identity = Identity{3, 0, "x"} }, 0},
		{"no test, where there were some elsewhere", func(r *Result, s *Shard) { withoutTests(r, s, "auto", 0) }, 0},
		{"no test, which is not allowed", func(r *Result, s *Shard) { withoutTests(r, s, "no", 0) }, exitFailed},
		{"no test, and the command failed", func(r *Result, s *Shard) { withoutTests(r, s, "auto", 5) }, exitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			second := node(2, 2, 3)
			tt.change(&second, &second.Shards[0])
			putNode(t, filepath.Join(base, "a"), node(1, 2, 3))
			putNode(t, filepath.Join(base, "b"), second)
			res, err, _ := joined(t, base, "a", "b")
			if err != nil || res.ExitCode != tt.want {
				t.Errorf("exit code %d, want %d (%v); %s", res.ExitCode, tt.want, err, res.Ledger.Line)
			}
			if res.ExitCode == 0 && res.Report.Bad() > 0 {
				t.Errorf("0 with %+v", res.Report.Totals)
			}
		})
	}
}

// withoutTests makes the node one that complains that no test ran on it.
func withoutTests(r *Result, s *Shard, allowed string, exit int) {
	r.AllowEmpty, r.ExitCode = allowed, exitNoTests
	s.State, s.Exit, s.Identity, s.Totals = Failed, exit, Identity{}, report.Totals{Tests: 1, Errors: 1}
	r.Report.ErrorCases = []report.ErrorCase{{Shard: s.Number, Of: s.Of, Attempt: 1, Kind: report.NoTests, Exit: exit, Message: "no test ran"}}
}

// What a merge reads of a shard is what the node's run knew.
func TestShardsComeBack(t *testing.T) {
	t.Parallel()
	for name, res := range results {
		for _, want := range res.Shards {
			got := shardDocument(want).shard(want.Node, "")
			want.tail, want.Seconds = nil, 0
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("%s:\n%+v\n%+v", name, got, want)
			}
		}
	}
	for s := syscall.Signal(0); s < 40; s++ {
		if got := signalOfName(signalName(s)); got != s {
			t.Errorf("%v became %v", s, got)
		}
	}
	if signalOfName("") != 0 {
		t.Error("no signal became one")
	}
}

// An earlier merge is replaced, but nothing that is still to be read.
func TestMergeIntoAFolderThatHoldsAttempts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	old, again := node(1, 1, 2), node(1, 1, 3)
	again.RunID.Attempt = "2"
	putNode(t, filepath.Join(base, "out/node-1"), old)
	putNode(t, filepath.Join(base, "again"), again)
	for range 2 {
		res, err, _ := joined(t, base, "out", "again")
		if err != nil || res.Report.Tests != 3 || res.Nodes[0].Folder != "node-1-2" {
			t.Errorf("%v, %+v", err, res.Nodes)
		}
	}
	if _, err := os.Stat(filepath.Join(base, "out/node-1", mergedFile)); err != nil {
		t.Error("the earlier attempt is gone")
	}
}

// Who interrupts a merge gets no half of it.
func TestMergeIsInterrupted(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	putNode(t, filepath.Join(base, "a"), node(1, 1, 2))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	res, err := Merge(ctx, MergeOptions{Dir: filepath.Join(base, "out"), Base: base, Folders: []string{filepath.Join(base, "a")}, Out: io.Discard})
	if !errors.Is(err, cause) || res.ExitCode == 0 {
		t.Errorf("exit code %d, %v", res.ExitCode, err)
	}
	if got := tree(t, filepath.Join(base, "out")); strings.Contains(" "+got, " junit.xml") || strings.Contains(got, ".tmp") {
		t.Errorf("left %s", got)
	}
	if _, err := MergeFiles(ctx, []report.File{{Path: filepath.Join(base, "a/junit.xml"), Name: "a"}}, filepath.Join(base, "x.xml"), io.Discard); !errors.Is(err, cause) {
		t.Errorf("files: %v", err)
	}
}
