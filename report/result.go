package report

// Status is the verdict on one case of the merged report.
type Status string

// A flaky case failed and then passed with nothing changed between; it counts as passed.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Errored Status = "error"
	Skipped Status = "skipped"
	Flaky   Status = "flaky"
)

// Bad says whether the case did not pass.
func (s Status) Bad() bool { return s == Failed || s == Errored }

// Totals are counted from the cases that are written, never taken from a report.
type Totals struct {
	Tests, Passed, Failures, Errors, Skipped int
	Flaky                                    int     // of the passed ones
	Seconds                                  float64 // sum over the suites: work done, not wall time
}

// Bad is the number of cases that did not pass.
func (t Totals) Bad() int { return t.Failures + t.Errors }

// Result is what a merge found.
type Result struct {
	Totals
	Shards     []Shard
	Failed     []Case       // the first 1000 bad ones, without boxer's own; their texts are cut
	FlakyCases []Case       // the first 1000, with the message of the last run that failed
	ErrorCases []ErrorCase  // boxer's own: each is an error in the merged report too
	Slowest    []Case       // the 100 that took longest, without texts
	Files      []FileTime   // the 100 that took longest
	Roll       []Case       // if asked for: the first 20,000 of any status, or fewer if their names are long, without texts
	Unread     []*ReadError // reports that could not be read whole, also those that a later attempt made up for
	Warnings   []string
	Incomplete bool // tests may be missing: an error case stands for a command that never ran, or for a configured
	// report that is missing or could not be read whole
	Empty bool // no shard had a case
}

// Shard is what one shard gave. The sets are for the check that each test ran once, and empty for a Merged one.
type Shard struct {
	Number, Of, Attempts int
	Exit                 int    // of the last attempt
	State                string // passed, failed, error (it has an error case), empty
	Totals
	Checked bool     // a report was read; if not, the exit code is all that is known
	IDs     []uint64 // hashes of its cases, sorted, each once, equal between shards for one test
	Files   []string // files that its cases name, sorted
	Groups  []string // names of its suites and classes, and files that suites name, sorted
	Cut     bool     // Files or Groups were too many and are not whole
}

// Case is one case of the merged report.
type Case struct {
	Shard, Attempt         int
	Suite, Classname, Name string
	File                   string // "" if the report names none
	SuiteFile              string // that its suite names; only for Options.Visit
	Line                   int    // 0 if the report names none
	Status                 Status
	Seconds                float64
	Message, Type, Body    string

	// What follows is told of the cases listed as failed or flaky only. The texts are cut.
	Out, Err    string   // what it wrote while it ran
	Attachments []string // collected files that its texts and properties mention, seen from the merged report
	Earlier     int      // runs of it that were bad before this one
}

// ErrorCase stands in the merged report for what no report can tell.
type ErrorCase struct {
	Shard, Of, Attempt int
	Kind               Kind
	Exit               int
	Name               string // `shard 2/4`
	Message, Body      string
}
