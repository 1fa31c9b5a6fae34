package wire

import (
	"errors"

	"github.com/boxer-ci/boxer/runner"
)

// Answer ends every call.
type Answer struct {
	Error  *Error `json:"error,omitempty"`
	Result []byte `json:"result,omitempty"` // in gob; nil is none
}

// Read reads what the answer brought, if anything, and returns the error it tells.
func (a Answer) Read(into any) error {
	if into != nil && a.Result != nil {
		if err := decode(a.Result, into); err != nil {
			return err
		}
	}
	return a.Error.Decode()
}

// Error is an error under way. On the other side it reads the same, and errors.As finds the runner.Error in it.
type Error struct {
	Reason   string       `json:"reason"` // the whole text, with all that wraps the runner.Error and what lies beneath
	Actable  bool         `json:"actable"`
	Cause    runner.Cause `json:"cause,omitempty"`
	Scope    string       `json:"scope,omitempty"`
	Worktree string       `json:"worktree,omitempty"`
	Fix      string       `json:"fix,omitempty"`
	Output   []string     `json:"output,omitempty"`
}

// EncodeError makes err fit for the way; nil for nil.
func EncodeError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*runner.Error](err); ok {
		return &Error{err.Error(), true, e.Cause, e.Scope, e.Worktree, e.Fix, e.Output}
	}
	return &Error{Reason: err.Error()}
}

// Decode makes it an error again; nil for nil.
func (e *Error) Decode() error {
	switch {
	case e == nil:
		return nil
	case !e.Actable:
		return errors.New(e.Reason)
	}
	return &runner.Error{Reason: e.Reason, Cause: e.Cause, Scope: e.Scope, Worktree: e.Worktree, Fix: e.Fix, Output: e.Output}
}

// Reply sends the answer to a call.
func (c *Conn) Reply(result any, err error) error {
	a := Answer{Error: EncodeError(err)}
	if result != nil {
		b, encodeErr := encode(KindRequest, result)
		if encodeErr != nil {
			return encodeErr
		}
		a.Result = b
	}
	return c.Send(KindAnswer, a)
}
