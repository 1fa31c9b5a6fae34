package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/boxer-ci/boxer/report/ci"
)

// doubts is what there is to say about whose the code under test is, and what of its boxer.yaml does not count. There
// is nothing where the file asks for nothing it may not.
func (s scoped) doubts() []string {
	var out []string
	if event := s.change.Event; event != "" {
		out = append(out, "warning: "+event+" runs with the repository's secrets, whoever made the change: "+
			"a stranger's code that runs outside of a sandbox in this job can take them")
	}
	if s.Untrusted == "" || s.File == "" || (len(s.Dropped) == 0 && !s.change.Unclear) {
		return out
	}
	out = append(out, "boxer.yaml is not trusted: "+s.Untrusted)
	for _, d := range s.Dropped {
		out = append(out, fmt.Sprintf("%s: %s: %s: %s, unless the workflow gives %s", d.Source, d.Key, strings.Join(d.Values, ", "), d.Effect, d.Fix))
	}
	return out
}

// sayDoubts tells them before anything starts.
func (d deps) sayDoubts(s scoped) {
	for _, line := range s.doubts() {
		d.say("%s", line)
	}
}

// warnCI puts them beside the run as well, where a person who only sees that a fork's tests fail will find them.
func (o *shardOptions) warnCI() {
	if lines := o.scoped.doubts(); len(lines) > 0 && o.run.CI == ci.GitHub {
		io.WriteString(o.run.Out, ci.Warning("boxer", o.masker().Mask(strings.Join(lines, "\n"))))
	}
}
