package cmd

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

// schema is the version of every JSON document that boxer prints.
const schema = 1

// answer prints the answer: the document with --json, else the lines.
func (d deps) answer(document any, lines ...string) error {
	if d.call.json {
		b, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		lines = []string{string(b)}
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(d.Out, l); err != nil {
			return (&runner.Error{Reason: "the answer could not be written", Cause: "OUTPUT"}).Because(err)
		}
	}
	return nil
}

// step tells one step of a preparation.
func (d deps) step(s runner.Step) {
	what := s.Kind
	switch s.Kind {
	case "boot":
		what = "sandbox started"
	case "init":
		what = "init of " + s.Name
	case "service":
		what = s.Name + " is ready"
	case "setup":
		what = "setup: " + s.Name
	}
	if s.Err != nil {
		what = s.Kind + " " + s.Name + " failed"
	}
	d.say("%s (%s)", what, seconds(s.Took))
}

func seconds(t time.Duration) string { return fmt.Sprintf("%.1f s", t.Seconds()) }

// masker hides what must not be printed: secrets of the caller, and those that flags gave.
func (d deps) masker() config.Masker {
	return config.NewMasker(append(append([]string(nil), d.Env...), d.call.flags["env"]...)...)
}
