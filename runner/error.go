package runner

import (
	"errors"
	"fmt"
	"strings"
)

// Cause is the short fixed code of an Error, for scripts and tests.
type Cause string

// The causes that more than one package gives or looks for.
const (
	NotRunning           Cause = "NOT_RUNNING"
	NotForkable          Cause = "NOT_FORKABLE"
	Unsupported          Cause = "UNSUPPORTED"
	ConfigChanged        Cause = "CONFIG_CHANGED"
	UntrustedConfig      Cause = "UNTRUSTED_CONFIG"
	IsBusy               Cause = "BUSY"
	UnknownScope         Cause = "UNKNOWN_SCOPE"
	AmbiguousScope       Cause = "AMBIGUOUS_SCOPE"
	ServiceNotReady      Cause = "SERVICE_NOT_READY"
	SetupFailed          Cause = "SETUP_FAILED"
	CommandNotFound      Cause = "COMMAND_NOT_FOUND"
	CommandNotExecutable Cause = "COMMAND_NOT_EXECUTABLE"
	BackendUnavailable   Cause = "BACKEND_UNAVAILABLE"
	BackendFailed        Cause = "BACKEND_FAILED"
	OtherVersion         Cause = "OTHER_VERSION"
	NoSpace              Cause = "NO_SPACE"
	NoMemory             Cause = "NO_MEMORY"
	AlreadyRunning       Cause = "ALREADY_RUNNING"
	UnknownPack          Cause = "UNKNOWN_PACK"
	PackExists           Cause = "PACK_EXISTS"
	NotAPack             Cause = "NOT_A_PACK"
	PackDamaged          Cause = "PACK_DAMAGED"
	PackTruncated        Cause = "PACK_TRUNCATED"
	PackForeign          Cause = "PACK_FOREIGN" // made for another system or processor
	PackTooNew           Cause = "PACK_TOO_NEW"
	PackUnsafe           Cause = "PACK_UNSAFE" // it holds what could reach outside its sandbox
	PackUnfit            Cause = "PACK_UNFIT"  // it changes what this host needs as it is
	MemoryNotPortable    Cause = "MEMORY_NOT_PORTABLE"
	MustBeStopped        Cause = "MUST_BE_STOPPED" // this kind of sandbox cannot be packed while it runs
	Gone                 Cause = "GONE"            // the sandbox or its keeper ended while in use
)

// Error is a failure that a person can act on.
type Error struct {
	Reason   string // what happened, for a person
	Cause    Cause
	Scope    string   // which parent, child or shard: "swift-crab (sb-7e1852e4a3c3, worktree)"
	Worktree string   // where there is one
	Fix      string   // the next thing to type
	Output   []string // the last lines of what failed, oldest first
	err      error
}

// Died is the refusal of a sandbox whose processes ended though nobody told boxer to end them.
func Died(fix string) *Error {
	return &Error{
		Reason: "the processes of this sandbox have ended: it crashed, or something other than boxer stopped it",
		Cause:  Gone, Fix: fix,
	}
}

// Error is one line, so that it reads well when wrapped.
func (e *Error) Error() string {
	if e.err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.err.Error()
}

// Because sets what lies beneath, found by errors.Is and errors.As, and returns e.
func (e *Error) Because(err error) *Error {
	e.err = err
	return e
}

// Unwrap gives what lies beneath, or nil.
func (e *Error) Unwrap() error { return e.err }

// At fills in the scope and its worktree where they are not set yet, and returns e.
func (e *Error) At(s Scope) *Error {
	if e.Scope == "" {
		e.Scope = s.String()
	}
	if e.Worktree == "" {
		e.Worktree = s.Worktree
	}
	return e
}

// CauseOf is the cause of the first Error in err's chain, "" without one.
func CauseOf(err error) Cause {
	var e *Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return ""
}

// Layout is the one way an Error is printed, without a newline at the end. Lines whose value is empty are left out.
func (e *Error) Layout() string {
	var b strings.Builder
	fmt.Fprintf(&b, "boxer: %s", e.Error())
	for _, l := range [][2]string{
		{"scope", e.Scope}, {"worktree", e.Worktree}, {"cause", string(e.Cause)}, {"fix", e.Fix},
	} {
		if l[1] != "" {
			fmt.Fprintf(&b, "\n  %-10s %s", l[0]+":", l[1])
		}
	}
	for _, l := range e.Output {
		fmt.Fprintf(&b, "\n  | %s", l)
	}
	return b.String()
}
