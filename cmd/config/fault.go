package config

import (
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/runner"
)

// Fault is one thing that is wrong with what a person wrote.
type Fault struct {
	Where string // "--count", "BOXER_COUNT", "boxer.yaml:12"; "" where there is no better place than the call
	What  string

	Refusal *runner.Error // set where the fault is told in full if it is the only one; its Fix is the command with Flag
	Flag    string
}

func (f Fault) String() string {
	if f.Where == "" {
		return f.What
	}
	return f.Where + ": " + f.What
}

// Faults is everything that is wrong with one call. It is an error of the person who wrote it, never boxer's.
type Faults []Fault

// Error is one line with all faults.
func (f Faults) Error() string {
	all := make([]string, len(f))
	for i, fault := range f {
		all[i] = fault.String()
	}
	return strings.Join(all, "; ")
}

// Err is f, or nil without a fault.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

func (f *Faults) addf(where, format string, args ...any) {
	*f = append(*f, Fault{Where: where, What: fmt.Sprintf(format, args...)})
}
