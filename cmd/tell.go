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
	o.tellGitHub(run)
	io.WriteString(o.run.Out, ci.Annotations(run))
}

// tellStart is tellCI for a run that never came to its tests.
func (o *shardOptions) tellStart(err error) {
	if o.run.CI == ci.GitHub {
		o.tellFailure(o.run.Out, codeOf(err, "shard"), err)
	}
}

// tellCI is the same for a merge. The nodes have shown their failures beside the code, so only the verdict is.
func (o mergeOptions) tellCI(out io.Writer, result shard.Result, err error) {
	switch {
	case ci.Detect(o.getenv) != ci.GitHub:
	case result.ReportDir == "":
		o.tellFailure(out, result.ExitCode, err)
	default:
		run := result.CI(shard.Options{}, o.getenv("GITHUB_WORKSPACE"))
		o.tellGitHub(run)
		run.Failed = nil
		io.WriteString(out, ci.Annotations(run))
	}
}

func (d deps) tellGitHub(run ci.Run) {
	d.append("GITHUB_STEP_SUMMARY", func(path string) error { return ci.WriteSummary(path, run) })
	d.append("GITHUB_OUTPUT", func(path string) error { return ci.WriteOutputs(path, run) })
}

// tellFailure is for what ended before there were results.
func (d deps) tellFailure(out io.Writer, code int, err error) {
	d.append("GITHUB_OUTPUT", func(path string) error { return ci.WriteExitCode(path, code) })
	said := ""
	if err != nil {
		said = d.masker().Mask(err.Error())
	}
	io.WriteString(out, ci.Annotations(ci.Run{ExitCode: code, Ledger: said}))
}

// append writes to a file of the step, if there is one.
func (d deps) append(variable string, write func(path string) error) {
	path := d.getenv(variable)
	if path == "" {
		return
	}
	if err := write(path); err != nil {
		d.say("%s was not written: %s", variable, plain(err))
	}
}
