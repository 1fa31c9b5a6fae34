package ci_test

import (
	"slices"
	"strings"
	"testing"
)

// pushed is what came of a workflow.
type pushed struct {
	t      *testing.T
	events []event
}

// ended checks how a job ended in the end, and that it printed the marker, which says that it ran at all: act calls a
// job successful that no runner takes.
func (p pushed) ended(job, result, marker string) {
	p.t.Helper()
	var results []string
	for _, e := range p.events {
		if e.JobID == job && e.Result != "" {
			results = append(results, e.Result)
		}
	}
	if len(results) == 0 || slices.ContainsFunc(results, func(r string) bool { return r != result }) {
		p.t.Errorf("job %s ended with %q, want %s", job, results, result)
	}
	p.prints(job, marker)
}

// printed are the lines of a job's programs.
func (p pushed) printed(job string) []string {
	var out []string
	for _, e := range p.events {
		if e.JobID == job && e.Raw {
			out = append(out, strings.TrimRight(e.Msg, "\r\n"))
		}
	}
	return out
}

// prints checks that a job printed a line.
func (p pushed) prints(job, line string) {
	p.t.Helper()
	if !slices.Contains(p.printed(job), line) {
		p.t.Errorf("job %s did not print %q", job, line)
	}
}

// mentions checks whether a text is in what a job printed.
func (p pushed) mentions(job, text string, want bool) {
	p.t.Helper()
	if got := strings.Contains(strings.Join(p.printed(job), "\n"), text); got != want {
		p.t.Errorf("job %s printed %q: %v, want %v", job, text, got, want)
	}
}

// output is what a step set, and not one inside of it.
func (p pushed) output(job, step, name string) string {
	value := ""
	for _, e := range p.events {
		if e.JobID == job && e.Command == "set-output" && e.Name == name && slices.Equal(e.StepID, []string{step}) {
			value = e.Arg
		}
	}
	return value
}

// summary is what a job's steps wrote for people.
func (p pushed) summary(job string) string {
	var b strings.Builder
	for _, e := range p.events {
		if e.JobID == job && e.Command == "summary" {
			b.WriteString(e.Content)
		}
	}
	return b.String()
}
