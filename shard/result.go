package shard

import (
	"syscall"
	"time"

	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
)

// State is how a shard ended.
type State string

// The states of a shard. Lost is boxer's or the backend's fault, never that of a test.
const (
	Passed        State = "passed"
	Failed        State = "failed"
	TimedOut      State = "timed out"
	Lost          State = "lost"
	Cancelled     State = "cancelled"
	NotFound      State = "not found"
	NotExecutable State = "not executable"
)

// Result is what a run found. How it is written as JSON stands in document.go.
type Result struct {
	ExitCode int
	Shards   []Shard // by number
	Report   report.Result
	Ledger   Ledger
	Warnings []string // what changes no verdict but should be known, sorted by shard

	Node       Node         // whose shards these are; Index is 0 for a merge of all nodes
	RunID      RunID        // of the CI system
	Count      int          // shards of each node
	Nodes      []NodeResult // that a merge read, by number; none for a run
	Configured bool         // paths of reports were named, so that a missing one is an error
	AllowEmpty string       // as in Options

	FailOnFlaky bool   // as in Options
	Listed      bool   // units of a list were dealt
	Plan        string // the same on all nodes that dealt the same list in the same way; "" without a list

	ReportDir  string        // absolute; junit.xml, result.json and the rest lie in it
	Seed       uint32        // Options.Seed of a run with the same seeds
	Started    time.Time     // of the first step of this run
	Setup      time.Duration // of the parent, as the caller told; 0: it ran already
	Fork       time.Duration // until the last child was there
	Wall       time.Duration // of this run
	Page       string        // the page for people, relative to ReportDir; "" if it could not be written
	Withheld   []string      // Options.Withheld
	Efficiency Efficiency    // zero for a run that was interrupted, and for a merge
	Bound      string        // what limits the run, in words; "" for nothing to say
	Kept       []string      // names of the children that outlive the run
	NotRemoved []string      // names of children whose removal failed
	files      []string      // the reports in ReportDir that are for people and tools
	parentKept bool          // with them, the parent that the caller started for this run
}

// Shard is what became of one shard.
type Shard struct {
	Number, Of  int // from 1, over all nodes
	Node        int // that ran it, from 1
	State       State
	Reason      string // why, where the state and the exit code do not say it
	Hint        string // the next thing to try, or ""
	Exit        int
	Signal      syscall.Signal // that ended the command, 0 if none
	Child       string         // its slug name; "" if there was none
	Seed        uint32         // its BOXER_SEED
	ForkStarted time.Time      // zero if there was no child
	Started     time.Time      // of the command; zero if it never started
	Fork        time.Duration  // until the child was there
	Wall        time.Duration  // from its first command's start to the last one's end
	Busy        time.Duration  // of its commands, retries left out
	Done        time.Time      // when the last of these ended; zero: as Wall says
	Units       int            // of a list, that it ran
	Batches     []Batch        // its commands in order; none for a shard of one command without a list

	report.Totals                  // of its cases, boxer's own included
	Identity      Identity         // of its tests
	Checked       bool             // a report was read; if not, the exit code is all that is known
	Log           string           // the output, relative to ReportDir
	Reports       []string         // relative to ReportDir
	Artifacts     []string         // relative to ReportDir
	NotCollected  []runner.Skipped // matched a glob, but was not brought; relative to Base
	Leftover      bool             // a process that the command left behind still held its output
	tail          []string         // the last lines of the output
}

// Batch is one command of a shard that has several.
type Batch struct {
	Number      int // from 1; 0 without a list. A retry has that of the batch it does again
	Attempt     int // from 1; later ones are retries
	Child       string
	ForkStarted time.Time // zero if it ran in a child that was there
	Fork        time.Duration
	Started     time.Time // of the command; zero if it never started
	Wall        time.Duration
	State       State
	Exit        int
	Units       []string // keys; none without a list
	Redone      bool     // its units without a result ran again, each by itself
	Void        bool     // a retry that ran other tests, and so does not count
}

// NodeResult is what one node says of itself, as a merge read it.
type NodeResult struct {
	Index    int
	RunID    RunID
	ExitCode int    // of its run
	Count    int    // of its shards
	Seed     uint32 // Options.Seed of its run
	Folder   string // where its files lie, relative to ReportDir
}

// Ledger tells whether each test ran once.
type Ledger struct {
	Closed bool     // nothing is missing and nothing doubled, as far as it could be checked
	Line   string   // the same in one line, for people
	Notes  []string // what looks odd and is no fault
	Units  Units
}

// Units counts those of a list by verdict. Listed is 0 without one.
type Units struct {
	Listed, Passed, Failed, Flaky, Real, NoResult, NotRun int
}
