package cmd

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/runner"
)

type doctorOptions struct {
	deps
	scoped scoped
}

func newDoctor(d deps, run func(context.Context, doctorOptions) error) *cobra.Command {
	o := doctorOptions{deps: d}
	c := &cobra.Command{
		Use: "doctor", Short: "Tell which backends work here, what is missing, and the configuration in force",
		Long: "Tries every backend, names for each that does not work the one setting or command that is missing, and prints\n" +
			"the configuration with the place that each value comes from. Exit code 1: the configured backend does not work.",
	}
	d.answers(c.Flags())
	c.RunE = action(d, func(args []string, f *config.Faults) {
		noArgs(args, f)
		o.scoped = d.resolve(f)
	}, func(ctx context.Context) error { return run(ctx, o) })
	return c
}

// diagnosis is the document of doctor --json.
type diagnosis struct {
	Schema        int             `json:"schema"`
	Chosen        string          `json:"chosen"` // the backend that would be used, "" if none works
	Backends      []finding       `json:"backends"`
	Scope         runner.Scope    `json:"scope"`
	File          string          `json:"file"` // "" without a boxer.yaml
	Configuration []config.Origin `json:"configuration"`
	Ignored       []string        `json:"ignored_variables"` // start with BOXER_ and mean nothing

	Untrusted string           `json:"untrusted"` // why boxer.yaml may be a stranger's; "" is trusted
	Dropped   []config.Dropped `json:"dropped"`   // what of an untrusted boxer.yaml does not count
	doubts    []string
}

// finding is what trying one backend showed.
type finding struct {
	Kind    string       `json:"kind"`
	Works   bool         `json:"works"`
	Forks   bool         `json:"forks"`
	Cleanup string       `json:"cleanup"` // what guarantees that nothing is left: "kernel", "supervised", "best effort"; "" where it is not known
	Reason  string       `json:"reason"`  // why it does not work
	Cause   runner.Cause `json:"cause"`
	Fix     string       `json:"fix"`
}

// cleaner is a backend that can tell without a sandbox what its cleanup rests on.
type cleaner interface {
	Cleanup(ctx context.Context) (string, error)
}

func runDoctor(ctx context.Context, o doctorOptions) error {
	doc := diagnosis{
		Schema: schema, Scope: o.scoped.scope, File: o.scoped.File,
		Configuration: o.masked(), Ignored: append([]string{}, config.Ignored(o.Env)...),
		Untrusted: o.scoped.Untrusted, Dropped: append([]config.Dropped{}, o.scoped.Dropped...), doubts: o.scoped.doubts(),
	}
	doc.Backends = o.examineAll(ctx)
	doc.Chosen = chosenBackend(o.scoped.Backend, o.scoped.Smolvm.Image != "", doc.Backends)
	lines := doc.lines()
	for i := range lines {
		lines[i] = tame(lines[i]) // values are quoted from a file that may be a stranger's
	}
	if err := o.answer(doc, lines...); err != nil {
		return err
	}
	if doc.Chosen == "" {
		return ended{exitFailed, nil}
	}
	return nil
}

// masked is the configuration without secrets: a command may hold one.
func (o doctorOptions) masked() []config.Origin {
	m := o.masker()
	out := append([]config.Origin{}, o.scoped.Origins...)
	for i := range out {
		out[i].Value = m.Mask(out[i].Value)
	}
	return out
}

// examineAll tries the backends side by side: each starts something, and that takes its time.
func (o doctorOptions) examineAll(ctx context.Context) []finding {
	out := make([]finding, len(o.backends))
	var wg sync.WaitGroup
	for i, b := range o.backends {
		wg.Go(func() { out[i] = o.examine(ctx, b) })
	}
	wg.Wait()
	return out
}

func (o doctorOptions) examine(ctx context.Context, b backend) finding {
	f := finding{Kind: b.kind, Forks: b.forks}
	if e := o.probe(ctx, b.kind); e != nil {
		f.Reason, f.Cause, f.Fix = e.Error(), e.Cause, e.Fix
		return f
	}
	f.Works = true
	if opened, err := o.backend(b.kind); err == nil {
		if c, ok := opened.(cleaner); ok {
			f.Cleanup, _ = c.Cleanup(ctx) // the probe has just worked
		}
	}
	return f
}

// chosenBackend is what start would use: auto is smolvm where an image is named for it, then gvisor, then smolvm where
// gvisor is not in this binary; it never falls to no isolation.
func chosenBackend(configured string, image bool, all []finding) string {
	works := map[string]bool{}
	for _, f := range all {
		works[f.Kind] = f.Works
	}
	order := []string{configured}
	if configured == "auto" {
		order = []string{"gvisor"}
		if image {
			order = []string{"smolvm", "gvisor"}
		} else if runtime.GOOS != "linux" {
			order = []string{"gvisor", "smolvm"}
		}
	}
	for _, kind := range order {
		if works[kind] {
			return kind
		}
	}
	return ""
}

func (d diagnosis) lines() []string {
	out := []string{"backends"}
	for _, f := range d.Backends {
		out = append(out, f.lines()...)
	}
	chosen := d.Chosen
	if chosen == "" {
		chosen = "none: the configured backend does not work here"
	}
	file := d.File
	if file == "" {
		file = "no boxer.yaml"
	}
	out = append(out, "  used      "+chosen, "", fmt.Sprintf("configuration of %s (%s)", d.Scope, file))
	rows := [][]string{}
	for _, c := range d.Configuration {
		rows = append(rows, []string{"  " + c.Key, c.Value, c.Source})
	}
	out = append(out, columns(rows)...)
	for _, line := range d.doubts {
		out = append(out, "  "+line)
	}
	for _, v := range d.Ignored {
		out = append(out, "  ignored: the variable "+v)
	}
	return out
}

func (f finding) lines() []string {
	if !f.Works {
		out := []string{fmt.Sprintf("  %-9s does not work: %s", f.Kind, f.Reason)}
		if f.Fix != "" && f.Fix != "boxer doctor" {
			out = append(out, "            fix: "+f.Fix)
		}
		return out
	}
	line := fmt.Sprintf("  %-9s works", f.Kind)
	if !f.Forks {
		line += ", cannot fork"
	}
	if f.Cleanup != "" {
		line += ", cleanup: " + f.Cleanup
	}
	return []string{line}
}
