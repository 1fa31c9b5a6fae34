package shard

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/report/ci"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/screen"
)

// Options say what a run does. Command, paths and Env may hold placeholders: <i> (the shard, from 1), <i0> (from 0),
// <n> (how many), <child> (the child's name), each also in braces: {i}.
type Options struct {
	Scope     runner.Scope    // whose sandbox it is: for messages and for paths in reports
	Count     int             // children, from 1 to 1024
	Command   []string        // program and arguments
	Dir       string          // absolute folder in which the command starts; "" is Base
	Env       []string        // the whole environment of the command, NAME=value; Run adds the shard's own variables
	User      string          // who runs the command in the child; "" is who called boxer
	Worktree  runner.Worktree // what a child sees at the worktree's path; "" is runner.Private
	Timeout   time.Duration   // per shard, from its first command's start; 0 is none
	Base      string          // absolute folder that JUnit and Artifacts are relative to
	JUnit     []string        // globs of reports; none: the usual places are looked at
	Artifacts []string        // globs of other files to bring out
	ReportDir string          // absolute folder of the host; "" is boxer-report in Base, in it Node.Folder
	Node      Node            // which part of the shards this machine runs; zero: all
	RunID     RunID           // of the CI system, for boxer merge
	FailFast  bool            // the first shard that fails ends the others
	Keep      bool            // the children outlive the run

	Tests       *Tests        // the list that boxer deals; nil: the command splits the tests by itself
	Timings     string        // absolute path of the file with the units' times; "" is timings.json beside the reports of all nodes
	TimingsFrom []report.File // JUnit reports of earlier runs, for units that the file does not know
	UnitTimeout time.Duration // per unit of the list; 0 is none
	Parallel    int           // children at work at once, from 1; 0 is all
	Retries     int           // how often what failed runs again, in a fresh fork; from 0 to 10
	MaxRetried  int           // more failed tests than this are not retried; 0 is 10
	FailOnFlaky bool          // a test that passes only in a retry fails the run

	AllowEmpty     string // as in report.Options
	Reruns         string // as in report.Options
	EmptyExitCodes []int  // as in report.Options

	Withheld []string // names of variables that the caller has and the command does not get, for the page
	Secrets  []string // values that logs and reports show as ***

	Seed  uint32        // BOXER_SEED of each child is made from it; 0 is a random one
	Setup time.Duration // what the caller needed to start the parent, for the summary; 0: it ran already
	Cores int           // of this machine, for the summary; 0 is found out

	Out    io.Writer // live output and summary; nil is none
	Mode   Mode      // of the live output
	Width  int       // columns of the terminal; 0: Out is none, and lines are as long as they are
	CI     ci.System // whose log Out is
	Colour bool      // of what boxer itself writes to Out
	Plain  bool      // no colours at all on Out, those of the tests included

	Kill <-chan struct{} // closed: stop waiting, end everything now; nil for never
}

// Node is one of several CI machines that share the shards of a run. The zero Node is the only one.
type Node struct {
	Index, Total int // Index is from 1
}

// Folder is the name of the folder in the report folder that is a node's own, "" for the only one.
func (n Node) Folder() string {
	if n.Total < 2 {
		return ""
	}
	return fmt.Sprintf("%s%d", nodePrefix, n.Index)
}

// RunID says which run of a CI system boxer is a part of. Outside of CI it is empty.
type RunID struct {
	ID      string // the same on all nodes and in all attempts
	Attempt string // tells a later attempt of one node from an earlier one
}

// Mode is how a run shows what its shards are doing.
type Mode string

// The zero Mode is Lines.
const (
	Lines Mode = "lines" // each line of output as it comes, with the shard in front
	Live  Mode = "live"  // one line per shard, rewritten in place; for terminals only
	Quiet Mode = "quiet" // nothing before the summary
)

const (
	maxCount       = 1024
	maxNodes       = 10_000
	maxRetries     = 10
	maxRetriedMost = 1_000_000
	reportDirName  = "boxer-report"
	nodePrefix     = "node-"
)

// filled returns the options with their defaults in place.
func (o Options) filled() Options {
	if o.Dir == "" {
		o.Dir = o.Base
	}
	if o.Worktree == "" {
		o.Worktree = runner.Private
	}
	if o.ReportDir == "" {
		o.ReportDir = filepath.Join(o.Base, reportDirName, o.Node.Folder())
	}
	if o.Node == (Node{}) {
		o.Node = Node{1, 1}
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Timings == "" {
		o.Timings = filepath.Join(o.topReportDir(), timingsFile)
	}
	if o.MaxRetried == 0 {
		o.MaxRetried = defaultMaxRetried
	}
	o.EmptyExitCodes = append(slices.Clone(o.EmptyExitCodes), emptyCodes(o.Command, o.Dir)...)
	if o.Mode == "" {
		o.Mode = Lines
	}
	if o.Cores == 0 {
		o.Cores = runtime.NumCPU()
	}
	for o.Seed == 0 {
		var b [4]byte
		rand.Read(b[:])
		o.Seed = binary.LittleEndian.Uint32(b[:])
	}
	return o
}

// total is how many shards there are on all nodes.
func (o Options) total() int { return o.Count * o.Node.Total }

// number is the shard that the k-th child of this node runs, k from 0.
func (o Options) number(k int) int { return (o.Node.Index-1)*o.Count + k + 1 }

// screen is what the options say of the live output.
func (o Options) screen(count int) screen.Screen {
	return screen.New(screen.Config{
		Out: o.Out, Live: o.Mode == Live, Quiet: o.Mode == Quiet, CI: o.CI, Colour: o.Colour,
		Plain: o.Plain, Width: o.Width, Folder: o.display(o.ReportDir),
		First: o.number(0), Count: count, Total: o.total(),
	})
}

// display shortens a path of the host for people, who can type it where they are: in Base, or else anywhere.
func (o Options) display(path string) string {
	if o.Dir != "" && o.Dir != o.Base {
		return path
	}
	if rel, err := filepath.Rel(o.Base, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// inRepository is the path of a file below Base as reports show it: relative to the worktree.
func (o Options) inRepository(name string) string {
	rel, err := filepath.Rel(o.Scope.Worktree, filepath.Join(o.Base, name))
	if o.Scope.Worktree == "" || err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return rel
}

// topReportDir is the folder that holds what boxer wrote, other nodes included.
func (o Options) topReportDir() string {
	dir := o.ReportDir
	if node := o.Node.Folder(); node != "" && filepath.Base(dir) == node && filepath.Dir(dir) != o.Base {
		dir = filepath.Dir(dir)
	}
	return dir
}

// ownPath is the folder of all that boxer wrote as seen from Base, other nodes included, or "" if it lies elsewhere.
func (o Options) ownPath() string {
	rel, err := filepath.Rel(o.Base, o.topReportDir())
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + string(os.PathSeparator)
}
