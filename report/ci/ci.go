// Package ci tells CI systems of a run in their own words: GitHub's workflow commands, step summary and outputs, and
// GitLab's log sections.
//
// It takes plain data and gives text, or appends to the one file it is told. It reads no variable but through the
// function it is given, and knows nothing of sandboxes.
//
// The choice a reader would question: nothing here fails a run. A summary that is too long is cut, a line that would
// issue a command is broken up, and a file that cannot be written is an error which the caller only tells.
package ci

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
)

// System is whose log and files a run writes to.
type System string

// The systems that boxer has words for. The zero System is None.
const (
	None   System = "none"
	GitHub System = "github"
	GitLab System = "gitlab"
)

// Detect finds the system by the value of its variable: gitlab-ci-local sets GITLAB_CI=false.
func Detect(getenv func(string) string) System {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return GitHub
	case getenv("GITLAB_CI") == "true":
		return GitLab
	}
	return None
}

// Run is what there is to tell. All texts may hold anything that a test can write.
type Run struct {
	ExitCode   int
	Totals     Totals // of the merged report
	Shards     []Shard
	Troubles   []Case // what no test tells: a report that is missing, a command that was killed
	Failed     []Case // the first of them; how many there are is in Totals
	Flaky      []Case // the first of them
	Ledger     string
	Bound      string  // what limits the run, or ""
	Complete   bool    // every unit of a list has a result, so that its timings may be kept
	Efficiency float64 // which part of the children's time was spent on tests; 0 is unknown
	Warnings   []string
	Setup      time.Duration
	Fork       time.Duration
	Wall       time.Duration
	Report     string // the folder of the results, as the next step would type it
	HTML       string // the page in it, or ""
	JSON       string // result.json
}

// Totals are counts of cases. Failures are all that did not pass: of a whole run Troubles included, of a shard not.
type Totals struct {
	Tests, Failures, Skipped, Flaky int
}

// Shard is one line of the table.
type Shard struct {
	Number, Of int
	State      string
	Passed     bool
	Checked    bool // a report was read: if not, the exit code is all that is known
	Totals     Totals
	Exit       int
	Reason     string
	Wall       time.Duration
	Log        string // relative to Report, or ""
}

// Case is one test that did not pass at once.
type Case struct {
	Shard   int
	Name    string // with its class
	Message string
	Body    string
	File    string // relative to the repository's root, or ""
	Line    int    // 0 is unknown
}

// said is the message with the rest of the text, without telling a line twice.
func (c Case) said() string {
	message, body := strings.TrimSpace(c.Message), strings.TrimRight(c.Body, " \t\r\n")
	first, rest, _ := strings.Cut(body, "\n")
	switch {
	case message == "" && strings.TrimSpace(body) == "":
		return "failed"
	case message == "" || strings.Contains(body, message):
		return body
	case strings.HasPrefix(message, first):
		return strings.TrimRight(message+"\n"+rest, "\n")
	}
	return message + "\n" + body
}

// NewToken is a word that nobody can guess.
func NewToken() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}
