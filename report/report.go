// Package report is test results as data: it reads the JUnit reports that shards wrote, lays attempts over each other,
// and writes one report that every common consumer reads alike. No failure may be lost or hidden on the way, so what
// cannot be read whole, and a command that failed without a failed test, each become a case of their own.
//
// It is a leaf: it starts nothing and prints nothing, and touches only the files it is given. What a shard wrote is
// never trusted with memory: reports are streamed, a big suite in parts, and each file is read twice, first to see
// whether it is whole. go-junit does the reading proper, but sees only a report that this package has rewritten, since
// by itself it lets the last result of a case win and drops cases outside of a suite.
package report

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Attempt is one go of one shard: how its command ended and which reports it left. If a shard runs several commands,
// each with other tests (the batches of a queue), each of them is an Attempt with its own Batch.
type Attempt struct {
	Shard, Of, Attempt int           // all from 1
	Batch              int           // only a later attempt of the same batch can make up for what went wrong in one
	Started            time.Time     // zero: unknown
	Wall               time.Duration // start to end of the command
	Exit               int           // exit code of the command
	Signal             string        // "", or what ended it: "SIGKILL"
	Killed             string        // "", or why boxer ended it: "time limit 20m"
	NotRun             string        // "", or why the command never started: "could not be forked"
	Configured         bool          // the user named report paths: then no report is an error
	Missing            []string      // named report paths where no fresh file lay, as the user wrote them
	Reports            []File        // read in byte order of their names
	OutputTail         string        // last lines of the shard's output
	Title              string        // how it is shown; "" is `shard 2/4`
	Hostname           string        // of the child: says nothing of a test, and goes from suites that bear it; "" for none

	// Merged says that the reports stand for themselves: Merge wrote them on another machine, or nobody knows which
	// command did. The exit code is unknown and counts for nothing, and suites keep their boxer properties and get no
	// others. A case's Shard and Attempt are those of the properties.
	Merged bool

	// Skip leaves cases of a Merged attempt out; nil leaves none out.
	Skip func(Case) bool

	// Artifact gives where a file that the report mentions was collected to, seen from the merged report, and ""
	// for one that was not. Nil leaves all mentions as they are.
	Artifact func(path string) string
}

// File is one report on disk.
type File struct {
	Path string // where to read it
	Name string // how to show it: relative to the worktree
}

// Options are the user's choices. The zero value is the default of each.
type Options struct {
	Name           string              // of the merged report; "" is boxer
	AllowEmpty     string              // yes, no, or "" and auto: in an opaque run, if another shard had cases
	Listed         bool                // the shards were dealt a test list, so the run is not opaque
	Reruns         string              // never, or "" and auto: with exit code 0 a failed case that passes further down is flaky
	EmptyExitCodes []int               // exit codes other than 0 with which a report may hold no case
	Mask           func(string) string // takes secrets out of a text; may be nil
	Roll           bool                // fill the Result's Roll
	Visit          func(Case)          // sees each case of the merged report once, in its order; may be nil

	// Stop ends the reading when it is closed: then nothing is written, and the error is ErrStopped. Nil never ends it.
	Stop <-chan struct{}

	limit int64 // of the merged report; 0 is maxMerged, tests set less
	part  int   // bytes of a suite that are held before they are written; 0 is maxPart
	given int   // names of suites that stand alone that are kept when one begins; 0 is maxGiven
}

// ErrStopped is the error of a merge that was told to stop.
var ErrStopped = errors.New("the merge was stopped")

// Merge reads all reports and writes one to path, or none if path is "". An error means that it could not be written;
// the Result is complete even so, for a summary. What is wrong with the reports is in the Result.
func Merge(attempts []Attempt, o Options, path string) (Result, error) {
	reserve := make([]byte, heapReserve)
	defer runtime.KeepAlive(reserve)
	suites := newSuiteNames(o.Mask)
	shards := group(attempts, suites, o)
	for size := whole; ; {
		m := newMerger(o, size, path, readAhead(inOrder(shards)), suites)
		for _, attempts := range shards {
			m.merge(attempts, shards)
		}
		if stopped(o.Stop) {
			m.out.discard()
			return Result{}, ErrStopped
		}
		smaller := m.out.smaller(size)
		if smaller == size {
			return m.finish()
		}
		m.out.discard()
		o.Visit, size = nil, smaller
	}
}

// group puts the attempts in their order, whatever order they ended in, and looks through the reports of each.
func group(attempts []Attempt, suites *suiteNames, o Options) [][]*attempt {
	sorted := slices.Clone(attempts)
	slices.SortStableFunc(sorted, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Batch, b.Batch))
	})
	inspected := make([]*attempt, len(sorted))
	concurrently(len(sorted), func(i int) { inspected[i] = inspectAttempt(sorted[i], suites, o) })
	var shards [][]*attempt
	for i, a := range inspected {
		if i == 0 || a.Shard != sorted[i-1].Shard {
			shards = append(shards, nil)
		}
		last := len(shards) - 1
		shards[last] = append(shards[last], a)
	}
	return shards
}

// concurrently calls do for 0 to n-1, as many at a time as there are processors.
func concurrently(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// inOrder names the attempts as often and in the order as their suites are asked for.
func inOrder(shards [][]*attempt) []*attempt {
	var order []*attempt
	for _, attempts := range shards {
		order = append(order, attempts...)
		if first := generation(attempts); len(first) < len(attempts) {
			order = append(order, first...) // see overlay.merge
		}
	}
	return order
}
