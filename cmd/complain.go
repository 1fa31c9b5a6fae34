package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
)

// finish prints what went wrong, the only place that does, and gives the exit code.
func (d deps) finish(err error) int {
	err = interruption(d.ctx, err)
	if said := d.complaint(err); said != "" {
		fmt.Fprintln(d.Err, tame(d.masker().Mask(said)))
	}
	return codeOf(err, d.call.command)
}

// tame makes what commands wrote, which an error may quote, harmless to who reads stderr: a terminal, and a CI system
// that looks for commands at the start of lines, blanks before them or not.
func tame(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if lines[i] = text.Harmless(line); strings.HasPrefix(strings.TrimSpace(line), "::") {
			lines[i] = "| " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// interruption puts the signal in front of an error that came after it: whatever failed then is told too, but the
// signal is the reason and decides the exit code.
func interruption(ctx context.Context, err error) error {
	i, ok := errors.AsType[Interrupted](context.Cause(ctx))
	if _, done := errors.AsType[ended](err); !ok || err == nil || done {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, i) {
		return i
	}
	return errors.Join(i, err)
}

func (d deps) complaint(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[ended](err); ok {
		return d.complaint(e.err)
	}
	if f, ok := errors.AsType[config.Faults](err); ok {
		return usage(f, d.call.command)
	}
	var parts []string
	for _, e := range flatten(err) {
		parts = append(parts, layout(e))
	}
	return strings.Join(parts, "\n")
}

// layout is how one error looks.
func layout(err error) string {
	if i, ok := err.(Interrupted); ok {
		return "boxer: " + i.Error()
	}
	e, ok := errors.AsType[*runner.Error](err)
	if !ok {
		return fmt.Sprintf("boxer: %s\n  this is a mistake in boxer itself: please report it, with what \"boxer version\" prints", err)
	}
	if err == error(e) {
		return e.Layout()
	}
	whole := *e
	whole.Reason = err.Error() // what wrapped it says where it happened
	return whole.Because(nil).Layout()
}

// flatten takes joined errors apart, each to be printed by itself.
func flatten(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range j.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}

// usage is how the faults of a call look: all of them, then where to read on.
func usage(f config.Faults, command string) string {
	if len(f) == 1 && f[0].Refusal != nil {
		e := *f[0].Refusal
		e.Fix = strings.Join(strings.Fields("boxer "+command+" "+f[0].Flag), " ")
		return e.Layout()
	}
	e := runner.Error{Cause: "USAGE", Fix: strings.Join(strings.Fields("boxer "+command+" --help"), " ")}
	if len(f) == 1 {
		e.Reason = f[0].String()
		return e.Layout()
	}
	e.Reason = fmt.Sprintf("%d things are wrong with this call, and nothing was started", len(f))
	for _, fault := range f {
		e.Output = append(e.Output, fault.String())
	}
	return e.Layout()
}
