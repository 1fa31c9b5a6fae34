package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
)

// MergeOptions say which reports of nodes are joined, and where they go.
type MergeOptions struct {
	Folders []string // absolute; each a node's report folder, or one that holds such folders
	Dir     string   // absolute folder for the merged report; "" with File
	File    string   // absolute path of the merged JUnit report, if that is all that is wanted
	Base    string   // absolute folder that paths in messages are relative to
	Out     io.Writer
	Say     func(format string, args ...any) // told what was decided on the way
}

// Merge joins the reports of the nodes of one run, by the rules by which the shards of one node were joined. Only the
// last attempt of a node counts. What is missing, cannot be read or does not belong together is in the error, all of
// it by name; unless the nodes contradict each other, the others are merged all the same, and an error case stands in
// the report for each that is not there. When ctx ends, the error is its cause, and there is no outcome.
func Merge(ctx context.Context, o MergeOptions) (Result, error) {
	if err := o.refuse(); err != nil {
		return Result{ExitCode: exitUsage}, err
	}
	if real, err := filepath.EvalSymlinks(o.Dir); err == nil && o.Dir != "" {
		o.Dir = real
	}
	s := nodeSearch{out: o.Dir, show: o.show, seen: map[string]bool{}, rerun: map[*runner.Error]string{}}
	for _, dir := range o.Folders {
		s.named(dir)
	}
	s.fixes()
	set := choose(s.found)
	for _, line := range set.said {
		o.Say("%s", line)
	}
	m := &nodeMerge{options: o, set: set, found: s.found, broken: len(s.problems) > 0}
	problems := append(s.problems, set.faults...)
	if len(set.missing) > 0 {
		problems = append(problems, set.missingFault())
	}
	if len(set.faults) > 0 || len(set.nodes) == 0 {
		code := exitOpenLedger
		if m.broken {
			code = exitBroken
		}
		return Result{ExitCode: code}, errors.Join(problems...)
	}
	err := m.run(ctx)
	if errors.Is(err, report.ErrStopped) {
		return Result{ExitCode: exitBroken}, context.Cause(ctx)
	}
	return m.result, errors.Join(append(problems, err)...)
}

func (o MergeOptions) show(path string) string {
	if rel, err := filepath.Rel(o.Base, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// nodeMerge is one merge of nodes that fit together.
type nodeMerge struct {
	options MergeOptions
	set     nodeSet
	found   []nodeFolder // also those that do not count
	broken  bool         // something could not be read or written
	dir     *reportDir
	folders []string // where the files of each node lie, relative to the merged report
	result  Result
	allowed []int                 // shards without a test that their own node had to complain about
	counted map[int]report.Totals // by shard, from the reports
}

func (m *nodeMerge) run(ctx context.Context) error {
	to := m.options.File
	m.result.ReportDir = to
	if to == "" {
		if err := m.open(); err != nil {
			m.result.ExitCode = exitBroken
			return err
		}
		defer m.dir.close()
		m.result.ReportDir, to = m.options.Dir, filepath.Join(m.options.Dir, mergedFile)
	}
	err := m.place()
	m.join()
	rep, merged := report.Merge(m.attempts(), report.Options{
		AllowEmpty: "yes", Roll: m.dir != nil, Visit: m.count, Stop: ctx.Done(),
	}, to)
	if errors.Is(merged, report.ErrStopped) {
		return merged
	}
	if merged != nil {
		err = errors.Join(err, notWritten("the merged report was not written", filepath.Dir(to), merged))
	}
	m.judge(rep)
	err = errors.Join(err, m.torn(rep))
	m.broken = m.broken || err != nil
	m.result.ExitCode = m.exitCode()
	if m.dir != nil {
		err = errors.Join(err, m.write())
	}
	io.WriteString(m.options.Out, summary(m.result, Options{Base: m.options.Base, Dir: m.options.Base, Mode: Lines}))
	return err
}

// refuse looks whether the folder for the outcome can be one: what lies there is removed.
func (o MergeOptions) refuse() error {
	if o.Dir == "" {
		return nil
	}
	errs := checkReportDir(o.folder())
	var d document
	if raw, err := readRegular(filepath.Join(o.Dir, resultFile)); err == nil && json.Unmarshal(raw, &d) == nil && d.Node.Index > 0 && d.Node.Total > 1 {
		errs = append(errs, fault(badReportDir, "", "%s is the folder of node %d of %d, and the merge would take its place", o.show(o.Dir), d.Node.Index, d.Node.Total))
	}
	return errors.Join(otherFolder(errs)...)
}

func (o MergeOptions) folder() Options { return Options{Base: o.Base, Dir: o.Base, ReportDir: o.Dir} }

// otherFolder gives the errors of a report folder the words that help here.
func otherFolder(errs []error) []error {
	for _, err := range errs {
		if e, ok := errors.AsType[*runner.Error](err); ok && (e.Fix == "" || strings.HasPrefix(e.Fix, "boxer shard")) {
			e.Fix = "boxer merge -o boxer-merged ..."
		}
	}
	return errs
}

// open takes the folder for the merged report.
func (m *nodeMerge) open() error {
	dir, err := openReportDir(m.options.folder())
	m.dir = dir
	return errors.Join(otherFolder([]error{err})...)
}

func (m *nodeMerge) write() error {
	m.result.Page = pageFile
	unwritten := m.dir.writePage(m.result, Options{Base: m.options.Base})
	if unwritten != nil {
		m.result.Page = ""
	}
	doc, err := m.result.JSON()
	if err == nil {
		err = m.dir.write(resultFile, doc)
	}
	m.result.files = m.dir.results()
	if err = errors.Join(err, unwritten); err != nil {
		m.result.ExitCode = exitBroken
		return notWritten("the result was not written", m.options.Dir, err)
	}
	return nil
}

// attempts are the reports of the nodes, and a gap for each that is missing.
func (m *nodeMerge) attempts() []report.Attempt {
	total := m.set.nodes[0].doc.Node.Total
	var all []report.Attempt
	for i, f := range m.set.nodes {
		all = append(all, report.Attempt{
			Shard: f.doc.Node.Index, Of: total, Attempt: 1, Title: fmt.Sprintf("node %d/%d", f.doc.Node.Index, total),
			Merged: true, Configured: true, Skip: m.excused,
			Reports:  []report.File{{Path: filepath.Join(f.path, mergedFile), Name: filepath.Join(f.show, mergedFile)}},
			Artifact: artifactIn(f.path, m.folders[i]),
		})
	}
	for _, index := range m.set.missing {
		title := fmt.Sprintf("node %d/%d", index, total)
		all = append(all, report.Attempt{
			Shard: index, Of: total, Attempt: 1, Title: title, Merged: true, Configured: true, Missing: []string{"the folder of " + title},
		})
	}
	return all
}

// artifactIn finds what a node's report mentions below its folder. What it does not know it leaves as it is: the node
// has said already what it did not collect.
func artifactIn(dir, folder string) func(string) string {
	return func(path string) string {
		if !filepath.IsLocal(path) || !strings.HasPrefix(path, "shard-") {
			return path
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err != nil {
			return path
		}
		return filepath.ToSlash(filepath.Join(folder, path))
	}
}

func (m *nodeMerge) count(c report.Case) {
	if m.counted == nil {
		m.counted = map[int]report.Totals{}
	}
	t := m.counted[c.Shard]
	t.Tests++
	switch c.Status {
	case report.Failed:
		t.Failures++
	case report.Errored:
		t.Errors++
	case report.Skipped:
		t.Skipped++
	case report.Flaky:
		t.Flaky++
		t.Passed++
	default:
		t.Passed++
	}
	m.counted[c.Shard] = t
}

// torn finds nodes whose report and result do not belong together: a file that was left from another run, or that was
// touched on its way here.
func (m *nodeMerge) torn(rep report.Result) error {
	var errs []error
	for _, e := range rep.Unread {
		if i := m.nodeAt(e.Shard); i >= 0 {
			errs = append(errs, fault(noReport, m.set.nodes[i].rerunFix(), "the report of %s cannot be read whole: %s", m.set.nodes[i], e))
		}
	}
	told := map[int]bool{}
	for _, e := range rep.Unread {
		told[e.Shard] = true
	}
	for _, s := range m.result.Shards {
		want, got := s.Totals, m.counted[s.Number]
		want.Seconds, got.Seconds = 0, 0
		if i := m.nodeAt(s.Node); want != got && !told[s.Node] {
			told[s.Node] = true
			f := m.set.nodes[i]
			errs = append(errs, fault(tornReport, f.rerunFix(), "junit.xml and result.json in %s are not of one run: of shard %d they show %s and %s",
				f.show, s.Number, text.Plural(got.Tests, "test"), text.Plural(want.Tests, "test")))
		}
	}
	return errors.Join(errs...)
}

func (m *nodeMerge) nodeAt(index int) int {
	for i, f := range m.set.nodes {
		if f.doc.Node.Index == index {
			return i
		}
	}
	return -1
}
