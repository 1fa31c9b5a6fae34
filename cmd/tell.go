package cmd

import (
	"io"

	"github.com/boxer-ci/boxer/report/ci"
	"github.com/boxer-ci/boxer/shard"
)

// maskSecrets makes GitHub's runner hide the secrets that boxer hides, in what other steps print as well. That writes
// them out once, so it is done only where the runner itself reads along.
func (o *shardOptions) maskSecrets() {
	if o.run.CI == ci.GitHub && ci.Detect(o.getenv) == ci.GitHub {
		io.WriteString(o.run.Out, ci.Masks(o.run.Secrets))
	}
}

// tellCI gives the CI system what it shows of a run, after all output and outside of its fence. Nothing of it may
// change how the run ended: what cannot be written is said.
func (o *shardOptions) tellCI(code int, result shard.Result) {
	if o.run.CI != ci.GitHub {
		return
	}
	run := result.CI(o.run, o.getenv("GITHUB_WORKSPACE"))
	run.ExitCode = code
	o.append("GITHUB_STEP_SUMMARY", func(path string) error { return ci.WriteSummary(path, run) })
	o.append("GITHUB_OUTPUT", func(path string) error { return ci.WriteOutputs(path, run) })
	io.WriteString(o.run.Out, ci.Annotations(run))
}

// tellStart is tellCI for a run that never came to its tests.
func (o *shardOptions) tellStart(err error) {
	if o.run.CI != ci.GitHub {
		return
	}
	code := codeOf(err, "shard")
	o.append("GITHUB_OUTPUT", func(path string) error { return ci.WriteExitCode(path, code) })
	io.WriteString(o.run.Out, ci.Annotations(ci.Run{ExitCode: code, Ledger: o.masker().Mask(err.Error())}))
}

// append writes to a file of the step, if there is one.
func (o *shardOptions) append(variable string, write func(path string) error) {
	path := o.getenv(variable)
	if path == "" {
		return
	}
	if err := write(path); err != nil {
		o.say("%s was not written: %s", variable, plain(err))
	}
}
