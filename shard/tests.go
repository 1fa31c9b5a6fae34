package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/ledger"
	"github.com/boxer-ci/boxer/shard/units"
)

// Tests is a list of units that boxer deals to the children, instead of a command that splits the tests by itself.
type Tests struct {
	Names  []string         // as the command gets them, seen from Options.Dir; known before the start
	Lister []string         // or the command that prints them, run in the parent once it is ready
	NUL    bool             // what the lister prints ends with NUL bytes instead of lines
	Static bool             // all is dealt before the start, reproducibly; else each child takes what comes next
	Again  *ledger.Document // only what this earlier run does not vouch for; nil for all
}

const (
	maxLister = 64 << 20 // bytes that a lister prints

	listAndIndex runner.Cause = "LIST_AND_INDEX"
	listNotUsed  runner.Cause = "LIST_NOT_USED"
	emptyList    runner.Cause = "EMPTY_LIST"
	badList      runner.Cause = "BAD_LIST"
	listFailed   runner.Cause = "LIST_FAILED"
)

// checkTests refuses what a list and a command cannot do together.
func checkTests(o Options) []error {
	texts := slices.Concat(o.Env, o.JUnit, o.Artifacts)
	if o.Tests == nil {
		texts = append(texts, o.Command...)
	}
	var errs []error
	if found := listed.FindString(strings.Join(texts, "\n")); found != "" {
		errs = append(errs, fault(noTestList, "boxer shard --tests 'test/**/*.test.js' -- npm test -- '<tests>'",
			"%s stands for a part of a test list, and there is none here", strings.TrimLeft(found, " \n")))
	}
	if o.Tests == nil {
		return errs
	}
	for _, word := range o.Command {
		if found := index.FindString(word); found != "" {
			errs = append(errs, fault(listAndIndex, "boxer shard --tests 'test/**/*.test.js' -- npm test -- '<tests>'",
				"the command takes the shard's number (%s) beside a test list: it would run a part of its part and drop the rest (a report's path needs no number: reports are collected after each command; where the shards share one worktree it is in $BOXER_SHARD_INDEX)", strings.TrimLeft(found, " =")))
			break
		}
	}
	if line := shellLine(o.Command); line != "" && !listed.MatchString(line) && !readsArguments(line) {
		errs = append(errs, fault(listNotUsed, "boxer shard --tests 'test/**/*.test.js' -- sh -c 'npm test -- <tests>'",
			"the units go behind the command, where this shell's line (%.60s) does not read them: put <tests> into it", line))
	}
	return append(errs, checkNames(o)...)
}

func checkNames(o Options) []error {
	if o.Tests.Lister != nil {
		return nil
	}
	list := units.Make(o.Tests.Names, o.Dir, o.Scope.Worktree)
	if len(list) == 0 && o.Tests.Again == nil {
		return []error{fault(emptyList, "boxer shard --tests 'test/**/*.test.js' ...", "the test list is empty")}
	}
	if err := units.Check(list); err != nil {
		return []error{fault(badList, "boxer shard --tests 'test/**/*.test.js' ...", "%v", err)}
	}
	return nil
}

// shellLine is the line of a command such as sh -c LINE that has no word behind it, else "".
func shellLine(command []string) string {
	if n := len(command); n >= 3 && slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh"}, filepath.Base(command[0])) &&
		strings.HasPrefix(command[n-2], "-") && strings.HasSuffix(command[n-2], "c") {
		return command[n-1]
	}
	return ""
}

func readsArguments(line string) bool {
	for _, sign := range []string{"$@", "${@", "$*", "${*", "$0", "${0", "$1", "${1"} {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

// listUnits gives the units of the run: those it was told, or those that the lister prints.
func (o Options) listUnits(ctx context.Context, s runner.Session) ([]units.Unit, error) {
	names := o.Tests.Names
	if o.Tests.Lister != nil {
		var err error
		if names, err = o.list(ctx, s); err != nil {
			return nil, err
		}
	}
	list := units.Make(names, o.Dir, o.Scope.Worktree)
	if err := units.Check(list); err != nil {
		return nil, fault(badList, "boxer shard --list "+typed([]string{typed(o.Tests.Lister)})+" ...", "%v", err)
	}
	if o.Tests.Again != nil {
		list = o.Tests.Again.Again(list)
	}
	return list, nil
}

// list runs the lister in the parent. Its errors go where they can be read: behind the message.
func (o Options) list(ctx context.Context, s runner.Session) ([]string, error) {
	shown := typed(o.Tests.Lister)
	out, exit, told, err := o.printed(ctx, s)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, (&runner.Error{Reason: "the tests could not be listed with " + shown, Cause: listFailed, Output: told}).Because(err)
	case exit.Code != 0:
		return nil, &runner.Error{
			Reason: fmt.Sprintf("the command that lists the tests failed with exit code %d: %s", exit.Code, shown),
			Cause:  listFailed, Fix: "boxer run -- " + shown, Output: told,
		}
	}
	names, err := units.Parse(strings.NewReader(out), o.Tests.NUL)
	if err != nil {
		return nil, (&runner.Error{Reason: "what " + shown + " prints is no test list", Cause: badList, Fix: "boxer run -- " + shown}).Because(err)
	}
	if len(names) == 0 {
		return nil, &runner.Error{Reason: "the test list is empty: nothing was printed by " + shown, Cause: emptyList, Fix: "boxer run -- " + shown, Output: told}
	}
	return names, nil
}

// printed runs the lister and gives its output and the last lines of its errors.
func (o Options) printed(ctx context.Context, s runner.Session) (out string, exit runner.Exit, told []string, err error) {
	stdout, readOut, err := listen(maxLister)
	if err != nil {
		return "", exit, nil, err
	}
	stderr, readErr, err := listen(maxLister)
	if err != nil {
		stdout.Close()
		readOut()
		return "", exit, nil, err
	}
	exit, err = s.Exec(ctx, "", runner.Command{
		Args: o.Tests.Lister, Dir: o.Dir, User: o.User, Env: o.Env, Stdout: stdout, Stderr: stderr,
	})
	stdout.Close()
	stderr.Close()
	text, cutErr := readOut()
	last, _ := readErr()
	return text, exit, runner.LastLines([]byte(last)), errors.Join(err, cutErr)
}

// listen gives the end of a pipe for a command to write to, and what reads it to its end and says what came. What a
// process that the command left behind writes later is not waited for.
func listen(limit int64) (w *os.File, read func() (string, error), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var b strings.Builder
		n, err := io.Copy(&b, io.LimitReader(r, limit))
		if err == nil && n == limit {
			if more, _ := io.Copy(io.Discard, r); more > 0 {
				err = fmt.Errorf("it printed more than %d MiB", limit>>20)
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
		done <- result{b.String(), err}
	}()
	return w, func() (string, error) {
		defer r.Close()
		r.SetReadDeadline(time.Now().Add(leftoverGrace))
		got := <-done
		return got.text, got.err
	}, nil
}
