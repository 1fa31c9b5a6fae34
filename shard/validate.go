package shard

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// What Validate refuses.
const (
	badCount     runner.Cause = "BAD_COUNT"
	badNode      runner.Cause = "BAD_NODE"
	badChoice    runner.Cause = "BAD_CHOICE"
	badPath      runner.Cause = "BAD_PATH"
	badPattern   runner.Cause = "BAD_PATTERN"
	badReportDir runner.Cause = "BAD_REPORT_DIR"
	noCommand    runner.Cause = "NO_COMMAND"
	noTestList   runner.Cause = "NO_TEST_LIST"
	outside      runner.Cause = "OUTSIDE_WORKTREE"
	samePath     runner.Cause = "SAME_REPORT_PATH"
)

// Validate finds everything in the options that can be refused before anything is started, all faults at once: the
// error joins one *runner.Error for each. On a backend that can only share its sandbox, set Worktree to runner.Live
// before.
func (o Options) Validate() error {
	o = o.filled()
	var errs []error
	for _, check := range []func(Options) []error{
		checkNumbers, checkCommand, checkTests, checkChoices, checkPaths, checkPatterns, checkReportDir,
	} {
		errs = append(errs, check(o)...)
	}
	return errors.Join(errs...)
}

func checkNumbers(o Options) []error {
	var errs []error
	if o.Count < 1 || o.Count > maxCount {
		errs = append(errs, fault(badCount, "boxer shard --count 4 -- COMMAND",
			"the number of shards must be from 1 to %d, not %d", maxCount, o.Count))
	}
	if n := o.Node; n.Index < 1 || n.Index > n.Total || n.Total > maxNodes {
		errs = append(errs, fault(badNode, "boxer shard --node 1/2 ...", "there is no node %d of %d", n.Index, n.Total))
	}
	for _, limit := range []struct {
		flag string
		is   time.Duration
	}{{"timeout", o.Timeout}, {"unit-timeout", o.UnitTimeout}} {
		if limit.is < 0 {
			errs = append(errs, fault(badChoice, "boxer shard --"+limit.flag+" 20m ...", "the time limit %s is negative", limit.is))
		}
	}
	for _, n := range []struct {
		flag     string
		is, most int
	}{{"retries", o.Retries, maxRetries}, {"max-retried", o.MaxRetried, maxRetriedMost}, {"parallel", o.Parallel, maxCount}} {
		if n.is < 0 || n.is > n.most {
			errs = append(errs, fault(badChoice, "boxer shard ...", "--%s must be from 0 to %d, not %d", n.flag, n.most, n.is))
		}
	}
	if o.UnitTimeout > 0 && o.Tests == nil {
		errs = append(errs, fault(noTestList, "boxer shard --tests 'test/**/*.test.js' --unit-timeout 1m ...", "a time limit of units needs a test list"))
	}
	return errs
}

func checkCommand(o Options) []error {
	if len(o.Command) == 0 || strings.TrimSpace(o.Command[0]) == "" {
		return []error{fault(noCommand, "boxer shard -- npm test -- '--shard=<i>/<n>'", "there is no command to run")}
	}
	return nil
}

func checkChoices(o Options) []error {
	var errs []error
	for _, c := range []struct {
		what, is, fix string
		may           []string
	}{
		{"worktree", string(o.Worktree), "boxer shard --worktree private ...", []string{string(runner.Live), string(runner.Private)}},
		{"allow-empty", o.AllowEmpty, "boxer shard --allow-empty auto ...", []string{"", "auto", "yes", "no"}},
		{"reruns", o.Reruns, "boxer shard --reruns auto ...", []string{"", "auto", "never"}},
		{"output", string(o.Mode), "boxer shard ...", []string{string(Lines), string(Live), string(Quiet)}},
	} {
		if !slices.Contains(c.may, c.is) {
			errs = append(errs, fault(badChoice, c.fix, "%s cannot be %q", c.what, c.is))
		}
	}
	return errs
}

func checkPaths(o Options) []error {
	var errs []error
	for _, p := range []struct{ what, is string }{{"base", o.Base}, {"start", o.Dir}, {"report", o.ReportDir}} {
		if !filepath.IsAbs(p.is) {
			errs = append(errs, fault(badPath, "boxer doctor", "the %s folder %q is not an absolute path", p.what, p.is))
		}
	}
	return errs
}

func checkPatterns(o Options) []error {
	var errs []error
	for _, p := range append(append([]string{}, o.JUnit...), o.Artifacts...) {
		if err := checkPattern(p); err != nil {
			errs = append(errs, err)
		}
	}
	if o.Worktree != runner.Live || o.Count < 2 {
		return errs
	}
	number := ""
	if o.Tests != nil { // then <i> cannot stand in the command
		number = "; a command with a test list finds its number in $BOXER_SHARD_INDEX"
	}
	for _, p := range o.JUnit {
		if !differs(p) {
			errs = append(errs, fault(samePath, fmt.Sprintf("boxer shard --junit '%s' ...", withIndex(p)),
				"the shards share one worktree, so all of them would write the report %s%s", p, number))
		}
	}
	return errs
}

func checkPattern(p string) error {
	clean := tidy(p)
	switch {
	case clean == "":
		return fault(badPattern, "boxer shard --junit 'reports/*.xml' ...", "a report or artifact path is empty")
	case path.IsAbs(clean):
		return fault(outside, "boxer shard --junit 'reports/*.xml' ...", "%s is absolute; report and artifact paths are relative to the folder of boxer.yaml", p)
	case slices.Contains(strings.Split(clean, "/"), ".."):
		return fault(outside, "boxer shard --junit 'reports/*.xml' ...", "%s leaves the folder that reports and artifacts are taken from", p)
	}
	if _, err := path.Match(clean, ""); err != nil || strings.Count(clean, "{") != strings.Count(clean, "}") {
		return fault(badPattern, "boxer shard --junit 'reports/*.xml' ...", "%s is not a pattern of file names", p)
	}
	return nil
}

// withIndex puts the shard's number into the name of a report: what a user would do.
func withIndex(pattern string) string {
	pattern = tidy(pattern)
	if name := path.Base(pattern); strings.Trim(name, "*") == "" {
		return strings.TrimSuffix(pattern, name) + strings.TrimPrefix(name+"/", "*/") + "*-<i>.xml"
	}
	ext := path.Ext(pattern)
	return strings.TrimSuffix(pattern, ext) + "-<i>" + ext
}

func fault(cause runner.Cause, fix, reason string, args ...any) error {
	return &runner.Error{Reason: fmt.Sprintf(reason, args...), Cause: cause, Fix: fix}
}
