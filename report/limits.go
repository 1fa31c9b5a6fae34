package report

// Nothing a shard writes may make boxer run out of memory, so every size has a limit. What is too big as a whole is
// refused, because a part would look like the whole; what is only a long text is cut in its middle.
const (
	maxBytes    = 256 << 20
	maxCases    = 1_000_000 // in one file
	maxSuites   = 200_000   // in one file
	maxElements = 5_000_000 // in one file
	maxInCase   = 100_000   // elements in one test case
	maxDepth    = 64
	maxTagName  = 1024

	maxOutput  = 1 << 20
	maxBody    = 256 << 10
	maxMessage = 16 << 10
	maxName    = 4 << 10

	maxMerged        = 30_000_000 // GitLab ignores a report above it
	squeezedOutput   = 64 << 10
	documentSize     = 64 << 10  // what go-junit is given at once
	maxAhead         = 4         // pieces of this size that are read while another is written
	heapReserve      = 8 << 20   // never touched, so it costs nothing, but what is used may grow by as much until it is collected
	maxSpare         = 10_000    // cases in a slice that is kept to be used again
	maxGiven         = 100_000   // names of suites that are done, if they stand alone
	maxPart          = 2 << 20   // bytes of a suite that are held before they are written
	outputSize       = 256 << 10 // bytes that are written to disk at once
	maxListed        = 1000      // cases listed in a Result, of each sort
	maxListedText    = 4 << 10
	maxListedFiles   = 20      // attachments of one listed case
	maxSlowest       = 100     // cases and files listed as the slowest
	maxRoll          = 20_000  // cases that are named one by one in a Result
	maxRollNames     = 4 << 20 // bytes of their names
	maxFileTimeNames = 2 << 20 // bytes of the names of files that are summed up
	maxLedgerNames   = 100_000
	maxWarnings      = 200
	maxSequence      = 4096 // of one terminal sequence
	cutMarkReserved  = 64   // bytes kept free for the mark that stands for what was cut
)
