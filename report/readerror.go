package report

import "fmt"

// Kind says in one fixed word what went wrong with a report or with a shard. It is what scripts may compare with.
type Kind string

// What can be wrong with a report file.
const (
	Missing    Kind = "missing"    // no fresh file where one was configured
	Unreadable Kind = "unreadable" // no regular file, or reading it failed
	Empty      Kind = "empty"      // no content at all
	Truncated  Kind = "truncated"  // ends too early; its complete cases are kept
	NotJUnit   Kind = "not-junit"  // another format
	Malformed  Kind = "malformed"  // not well-formed XML
	Doctype    Kind = "doctype"    // declares entities or a grammar of its own
	TooDeep    Kind = "too-deep"   // elements nested deeper than maxDepth
	TooLarge   Kind = "too-large"  // more bytes, cases or elements than boxer reads
	Encoding   Kind = "encoding"   // declares a character encoding that boxer does not know
)

// What can be wrong with a shard, whatever its report says.
const (
	NotRun        Kind = "not-run"        // its command never started
	Killed        Kind = "killed"         // boxer ended it
	Crashed       Kind = "crashed"        // a signal ended it
	NoTests       Kind = "no-tests"       // the report is whole and holds no case
	CommandFailed Kind = "command-failed" // exit code not 0, but no case is bad
)

// ReadError tells why a report could not be read whole, and where.
type ReadError struct {
	Shard, Attempt int
	File           string // as shown to people, relative
	Line           int    // from 1
	Kind           Kind
	Reason         string
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Kind, e.Reason)
}

func refuse(kind Kind, line int, format string, args ...any) *ReadError {
	return &ReadError{Line: max(line, 1), Kind: kind, Reason: fmt.Sprintf(format, args...)}
}
