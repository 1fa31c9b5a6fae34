package shard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

const (
	maxNodeDepth  = 4 // folders between one that was named and a node's: artifacts/report-2/boxer-report/node-2
	maxResultFile = 128 << 20
)

// What can be wrong with the folder of one node.
const (
	noResult     runner.Cause = "RESULT_MISSING"
	badResult    runner.Cause = "RESULT_UNREADABLE"
	newerSchema  runner.Cause = "NEWER_SCHEMA"
	noReport     runner.Cause = "REPORT_MISSING"
	tornReport   runner.Cause = "REPORT_MISMATCH"
	mergedResult runner.Cause = "ALREADY_MERGED"
)

// nodeFolder is the report folder of one node, with its result.
type nodeFolder struct {
	path string // real
	show string // for people
	doc  document
	raw  []byte
}

func (f nodeFolder) String() string {
	return fmt.Sprintf("node %d of %d", f.doc.Node.Index, f.doc.Node.Total)
}

func (f nodeFolder) rerunFix() string {
	return rerunFix(f.doc.Count, f.doc.Node.Index, f.doc.Node.Total)
}

// of is the folder's run for people.
func (f nodeFolder) of() string {
	run := cmp.Or(f.doc.Run.ID, "no CI system")
	if f.doc.Run.Attempt != "" {
		run += ", attempt " + f.doc.Run.Attempt
	}
	return fmt.Sprintf("%s (%s)", f.show, run)
}

// nodeSearch finds the folders of nodes. What looks like one and cannot be read is a problem, never left out.
type nodeSearch struct {
	out      string // where the merge goes: never its own input
	show     func(string) string
	found    []nodeFolder
	problems []error
	rerun    map[*runner.Error]string // problems that a new run of the node mends, with its folder
	seen     map[string]bool
}

// named is one folder that the user gave.
func (s *nodeSearch) named(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		s.problem(badResult, "ls -ld "+s.show(dir), "%s cannot be read: %v", s.show(dir), err)
		return
	}
	before, known := len(s.problems), len(s.seen)
	if found, merged := s.visit(real, 0); found == 0 && len(s.problems) == before && len(s.seen) > known {
		if real == s.out {
			s.problem(noResult, "boxer merge -o boxer-merged "+s.show(dir), "%s is where the merged report goes, and holds no folder of a node", s.show(dir))
			return
		}
		if merged {
			s.problem(mergedResult, "boxer merge boxer-report/node-*", "%s is the outcome of a merge, and holds no folder of a node", s.show(dir))
			return
		}
		s.problem(noResult, fmt.Sprintf("boxer merge -o out.xml '%s/**/*.xml'", s.show(dir)),
			"%s holds no result.json: it is no report folder of a node, nor are the folders in it", s.show(dir))
	}
}

var nodeName = regexp.MustCompile(`^` + nodePrefix + `([0-9]+)$`)

// visit looks into a folder and those in it. What lies in a node's folder is its own, but for the folders of others.
func (s *nodeSearch) visit(dir string, depth int) (found int, merged bool) {
	if s.seen[dir] {
		return 0, false
	}
	s.seen[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.problem(badResult, "ls -l "+s.show(dir), "%s cannot be read: %v", s.show(dir), err)
		return 0, false
	}
	has := func(match func(string) bool) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && match(e.Name()) })
	}
	isNode := has(func(name string) bool { return name == resultFile }) && dir != s.out
	if isNode {
		merged = s.read(dir)
		isNode = !merged
	}
	logs := dir != s.out && has(shardLog.MatchString)
	for _, e := range entries {
		if !e.IsDir() || depth == maxNodeDepth || ours.MatchString(e.Name()) || ((isNode || logs) && !nodeName.MatchString(e.Name())) {
			continue
		}
		n, m := s.visit(filepath.Join(dir, e.Name()), depth+1)
		found, merged = found+n, merged || m
	}
	switch {
	case isNode:
		found++
	case merged || dir == s.out:
	case logs, found == 0 && nodeName.MatchString(filepath.Base(dir)):
		s.again(noResult, dir, "%s has no result.json: its run was cut off before it could say what came out", s.show(dir))
		found++
	}
	return found, merged
}

var shardLog = regexp.MustCompile(`^shard-[0-9]+\.log$`)

// rerunFix is how a node is run again. Nothing but the command itself is left to add.
func rerunFix(count, index, total int) string {
	return fmt.Sprintf("boxer shard --count %d --node %d/%d  # and your -- COMMAND, where no boxer.yaml names it", count, index, total)
}

// again is a problem of a folder that a new run of its node mends. How that is typed only the other nodes can tell.
func (s *nodeSearch) again(cause runner.Cause, dir, reason string, args ...any) {
	err := &runner.Error{Reason: fmt.Sprintf(reason, args...), Cause: cause, Fix: "run the job again that wrote " + s.show(dir)}
	s.problems = append(s.problems, err)
	s.rerun[err] = dir
}

// fixes tells how the nodes are run again, once all folders were seen.
func (s *nodeSearch) fixes() {
	for err, dir := range s.rerun {
		m := nodeName.FindStringSubmatch(filepath.Base(dir))
		if m == nil || len(s.found) == 0 {
			continue
		}
		first := s.found[0].doc
		if index, _ := strconv.Atoi(m[1]); index >= 1 && index <= first.Node.Total {
			err.Fix = rerunFix(first.Count, index, first.Node.Total)
		}
	}
}

// read takes in a node's result. Merged says that it is of no node, but of an earlier merge.
func (s *nodeSearch) read(dir string) (merged bool) {
	f := nodeFolder{path: dir, show: s.show(dir)}
	file := s.show(filepath.Join(dir, resultFile))
	var err error
	if f.raw, err = readRegular(filepath.Join(dir, resultFile)); err != nil {
		s.problem(badResult, "ls -l "+file, "%s cannot be read: %v", file, err)
		return false
	}
	var head struct{ Schema int }
	if err := json.Unmarshal(f.raw, &head); err != nil {
		s.again(badResult, dir, "%s is cut off, or no JSON: %v", file, err)
		return false
	}
	if head.Schema > resultSchema {
		s.problem(newerSchema, "boxer version", "%s has schema %d and comes from a newer boxer; this one reads schema %d", file, head.Schema, resultSchema)
		return false
	}
	err = json.Unmarshal(f.raw, &f.doc)
	if err == nil && f.doc.Node.Index == 0 && len(f.doc.Nodes) > 0 {
		return true
	}
	if err == nil {
		err = f.doc.check()
	}
	if err != nil {
		s.again(badResult, dir, "%s is no result of a node: %v", file, err)
		return false
	}
	if info, err := os.Lstat(filepath.Join(dir, mergedFile)); err != nil || !info.Mode().IsRegular() {
		s.again(noReport, dir, "%s has a result.json and no junit.xml", f.show)
		return false
	}
	s.found = append(s.found, f)
	return false
}

func (s *nodeSearch) problem(cause runner.Cause, fix, reason string, args ...any) {
	s.problems = append(s.problems, fault(cause, fix, reason, args...))
}

// readRegular opens nothing that waits, and nothing that is not really there.
func readRegular(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxResultFile+1))
	if err == nil && len(b) > maxResultFile {
		err = fmt.Errorf("more than %d bytes", maxResultFile)
	}
	return bytes.TrimSpace(b), err
}

// check says whether the document can be the result of a node: it was written by boxer, but carried here by others.
func (d document) check() error {
	n := d.Node
	switch {
	case n.Total == 0:
		return errors.New("it says no node")
	case n.Total > maxNodes || d.Count > maxCount:
		return fmt.Errorf("%d nodes of %d shards are too many", n.Total, d.Count)
	case n.Index < 1 || n.Index > n.Total:
		return fmt.Errorf("there is no node %d of %d", n.Index, n.Total)
	case d.Count < 1 || len(d.Shards) > d.Count || len(d.Shards) < d.Count && !d.Rules.Listed:
		return fmt.Errorf("it says %d shards and holds %d", d.Count, len(d.Shards))
	}
	states := []State{Passed, Failed, TimedOut, Lost, Cancelled, NotFound, NotExecutable}
	for i, s := range d.Shards {
		first := (n.Index-1)*d.Count + 1
		wrong := s.Number != first+i
		if d.Rules.Listed { // children without a unit do not start
			wrong = s.Number < first || s.Number >= first+d.Count || i > 0 && s.Number <= d.Shards[i-1].Number
		}
		if wrong || s.Of != n.Total*d.Count {
			return fmt.Errorf("shard %d of %d is none of node %d of %d", s.Number, s.Of, n.Index, n.Total)
		}
		if !slices.Contains(states, s.State) {
			return fmt.Errorf("shard %d has the state %q, which this boxer does not know", s.Number, s.State)
		}
		for _, path := range append(append([]string{s.Log}, s.Reports...), s.Artifacts...) {
			if path != "" && !filepath.IsLocal(path) {
				return fmt.Errorf("shard %d names a file outside of the folder: %s", s.Number, path)
			}
		}
	}
	return nil
}

// within says whether a path lies in a folder or is it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
