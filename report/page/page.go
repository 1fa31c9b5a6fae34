// Package page writes the result of a run as one HTML file that stands by itself: a picture of when what ran, the
// failures with their output and pictures, flaky and slow tests, and a line for each test.
//
// It gets plain data and writes to the writer it is given; it reads no file, knows no shard and no sandbox. Secrets are
// the caller's to take out before. All texts are foreign: html/template escapes them, characters that nobody could see
// or that turn the direction of text become visible, and a Content-Security-Policy lets no script run but the one in
// this package.
//
// The choice a reader would question: tests that passed are a line of text each, in a list that stays closed, and only
// of the first 20,000. A browser opens ten thousand lines at once; as rows of a table it would not.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"time"
)

// Page is what the file tells. All durations that are points in time count from the start of the run's first step, the
// setup included.
type Page struct {
	Project  string // whose run it is: the name of a folder
	Node     string // "2/5", or "" if there is one only
	Command  string // as the user gave it
	Started  time.Time
	ExitCode int
	Meaning  string // of the exit code, in words
	Totals   Totals
	Ledger   Ledger
	Setup    time.Duration // 0: the sandbox ran already
	Fork     time.Duration // until the last child was there
	Wall     time.Duration // of all after the setup
	Bound    string        // what limits the run, in words, or ""

	Children []Child
	Failures []Case // boxer's own errors first
	Unlisted int    // failures that are not in the list
	Flaky    []Case
	Slowest  []Case
	Files    []FileTime // the slowest
	Tests    []Case     // all, or the first ones; of these only the names, the state and the time count
	Warnings []string
	Withheld []string // names of variables that did not enter the sandbox

	Merged, Data string // names of the merged report and of the result as data, beside the page; or ""
}

// Totals count tests.
type Totals struct{ Tests, Passed, Failures, Errors, Skipped, Flaky int }

// Ledger tells whether each test ran once.
type Ledger struct {
	Closed bool
	Line   string
	Notes  []string
}

// State is how a test, a unit or a child ended, in words. The page knows how to draw those below; any other is drawn as
// something bad.
type State string

// The states that are drawn as something other than bad.
const (
	Passed    State = "passed"
	Flaky     State = "flaky"
	Skipped   State = "skipped"
	Cancelled State = "cancelled"
)

// Child is one shard and the sandbox it ran in.
type Child struct {
	Number, Of   int
	Name         string // of the sandbox; "" if there was none
	Node         string // the machine it ran on, or ""
	State        State
	Reason, Hint string
	Exit         string // "1", "137 (SIGKILL)", or "" if the command never ended
	Totals       Totals
	Checked      bool // a report was read; if not, only the exit code is known
	Spans        []Span
	Log          string // beside the page
	Files        []string
	Omitted      int // files that are not in the list
}

// Kind says what a Span shows.
type Kind string

// The kinds of spans.
const (
	Fork    Kind = "fork"
	Command Kind = "command"
	Unit    Kind = "unit"
)

// Span is something that took time in a child.
type Span struct {
	Kind       Kind
	Label      string // of a unit
	Start, End time.Duration
	Attempt    int // from 1; 0 counts as 1
	State      State
}

// Case is one test.
type Case struct {
	Shard, Attempt     int
	Suite, Class, Name string
	File               string
	Line               int
	State              State
	Seconds            float64
	Message, Type      string
	Body, Out, Err     string
	Attachments        []string // files beside the page
	Earlier            int      // bad runs before this one
	Log                string   // of its shard, beside the page
	Own                bool     // an error case of boxer's
}

// FileTime is what the tests of one file took.
type FileTime struct {
	Name    string
	Tests   int
	Seconds float64
}

//go:embed page.html
var markup string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Render writes the page.
func Render(w io.Writer, p Page) error {
	t, err := template.New("page").Funcs(functions).Parse(markup)
	if err != nil {
		return err
	}
	return t.Execute(w, newView(p))
}

// policy lets nothing in but pictures that lie beside the page, its style and its script. That these two are named by
// their hashes means that no other one runs, should one ever get in.
func policy() string {
	return "default-src 'none'; img-src 'self' file: data:; style-src " + hashOf(style) + "; script-src " + hashOf(script) +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
