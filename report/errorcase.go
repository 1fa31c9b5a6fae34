package report

import (
	"fmt"
	"slices"
	"strings"
)

// OwnSuite is the suite, and the class, of the cases that boxer adds. A report may have one of this name too.
const OwnSuite = "boxer"

// ended says why the command did not come to its own end, or "".
func (a *attempt) ended() Kind {
	switch {
	case a.NotRun != "":
		return NotRun
	case a.Killed != "":
		return Killed
	case a.Signal != "":
		return Crashed
	}
	return ""
}

// trouble says what is wrong with the attempt that no case of its reports shows, or "". The cases must have been
// counted before. Others had cases if there was a report with cases in another shard.
func (a *attempt) trouble(othersHadCases bool) Kind {
	switch {
	case a.ended() != "":
		return a.ended()
	case len(a.errs) > 0:
		return a.errs[0].Kind
	case a.unchecked():
		return ""
	case a.cases == 0 && !a.mayBeEmpty(othersHadCases):
		return NoTests
	case a.cases > 0 && a.bad == 0 && a.Exit != 0 && !a.Merged:
		return CommandFailed
	}
	return ""
}

// mayBeEmpty allows a report without a case. A runner that splits by itself can leave a shard without tests, but not
// all of them.
func (a *attempt) mayBeEmpty(othersHadCases bool) bool {
	if a.Exit != 0 && !a.Merged {
		return slices.Contains(a.options.EmptyExitCodes, a.Exit)
	}
	switch a.options.AllowEmpty {
	case "yes":
		return true
	case "no":
		return false
	}
	return othersHadCases && !a.options.Listed
}

// errorCase puts the trouble into words. Its message always names the exit code, since that is what a reader of the
// merged report cannot see elsewhere.
func (a *attempt) errorCase(kind Kind) ErrorCase {
	e := ErrorCase{
		Shard: a.Shard, Of: a.Of, Attempt: a.Attempt.Attempt, Kind: kind, Exit: a.Exit, Name: a.label(),
	}
	if a.Merged {
		e.Shard, e.Of, e.Exit = 0, 0, 0
	}
	e.Message = fmt.Sprintf("%s, exit code %d", a.cause(kind), a.Exit)
	if kind == NotRun || a.Merged {
		e.Message = a.cause(kind)
	}
	if a.Attempt.Attempt > 1 {
		e.Message += fmt.Sprintf(", attempt %d", a.Attempt.Attempt)
	}
	var body strings.Builder
	for _, err := range a.errs {
		body.WriteString(err.Error() + "\n")
	}
	body.WriteString(a.tail())
	e.Message = cleanMessage(e.Message)
	e.Body = shorten(cleanText(body.String()), maxBody, false)
	return e
}

func (a *attempt) cause(kind Kind) string {
	switch kind {
	case NotRun:
		return "never started: " + a.NotRun
	case Killed:
		return "ended by boxer: " + a.Killed
	case Crashed:
		return "killed by " + a.Signal
	case NoTests:
		return "no test ran: the report holds no case"
	case CommandFailed:
		return "the command failed, but its report shows no failed test"
	case Missing:
		return fmt.Sprintf("no report (%s is missing)", a.errs[0].File)
	}
	return a.errs[0].Error()
}

// suite is the error case as it is written.
func (e ErrorCase) suite(a *attempt) *suite {
	c := record{Case: Case{
		Shard: e.Shard, Attempt: e.Attempt, Suite: OwnSuite, Classname: OwnSuite, Name: e.Name,
		Status: Errored, Type: "boxer." + string(e.Kind), Message: e.Message, Body: e.Body,
	}, own: true}
	return &suite{name: OwnSuite, cases: []record{c}, attempt: a, synthetic: true}
}
