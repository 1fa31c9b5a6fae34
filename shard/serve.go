package shard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/ledger"
	"github.com/boxer-ci/boxer/shard/plan"
)

// server is one child at work on a list: it takes batches until there are none. The child itself may be replaced by a
// fresh one between two batches.
type server struct {
	*run
	source   runner.Source
	k        int // from 0
	number   int // of the shard
	child    runner.Child
	alive    bool
	inside   processes // that were in the child before its first command
	deadline time.Time // of the shard; zero before its first command, or for none
	attempts []*attempt
}

// serve runs batches in one child until the list is done. The first one was taken before the child was forked, so
// that no child is made for nothing.
func (r *run) serve(ctx context.Context, source runner.Source, k int, first []plan.Job) []*attempt {
	s := &server{run: r, source: source, k: k, number: r.options.number(k)}
	for batch := first; len(batch) > 0; batch = r.deal.next(k) {
		if !s.batch(ctx, batch) {
			break
		}
	}
	state := Passed
	if n := len(s.attempts); n > 0 {
		state = s.attempts[n-1].state
	}
	r.screen.State(s.number, string(state))
	return s.attempts
}

// batch runs the units in the child and says whether there may be another batch.
func (s *server) batch(ctx context.Context, jobs []plan.Job) bool {
	pieces := fit(s.options.Command, sizeOf(s.options.Env), unitsOf(jobs))
	s.deal.giveBack(s.k, jobs[len(pieces[0]):], false)
	jobs = jobs[:len(pieces[0])]
	a := &attempt{number: s.number, total: s.options.total(), try: 1, batch: len(s.attempts) + 1, jobs: jobs}
	if !s.fork(ctx, a) {
		s.deal.giveBack(s.k, jobs, false)
		return false
	}
	s.attempts = append(s.attempts, a)
	s.state(a)
	a.deadline = s.deadline
	s.run.command(ctx, a)
	s.deadline = a.deadline
	s.read(a)
	a.excuse(s.options.EmptyExitCodes)
	return s.after(ctx, a)
}

func (s *server) state(a *attempt) {
	what := text.Plural(len(a.jobs), "unit")
	if len(a.jobs) == 1 {
		what = a.jobs[0].Unit.Name
	}
	s.screen.State(s.number, "running "+what)
}

// fork makes the child if there is none, and notes what runs in it before any command.
func (s *server) fork(ctx context.Context, a *attempt) bool {
	if s.alive {
		a.child = s.child
		return true
	}
	s.screen.State(s.number, "forking")
	if !s.run.forkFor(ctx, s.source, a) {
		s.attempts = append(s.attempts, a)
		return false
	}
	s.child, s.alive = a.child, true
	s.inside = s.processes(ctx, s.child)
	return true
}

// after decides how it goes on, and writes the books.
func (s *server) after(ctx context.Context, a *attempt) bool {
	s.ownSignal(a)
	open := a.reading.open(a.jobs)
	broken := a.hung || a.state == Lost && runner.CauseOf(a.err) == runner.Gone || a.state == Failed && a.exit.Signal != 0 && !a.reading.whole
	switch {
	case a.strange != 0:
		s.cancel(strangeSignal{s.number, a.strange})
	case broken && len(a.jobs) > 1 && ctx.Err() == nil:
		// Which unit it was is not known: each that has no result runs again by itself.
		a.redo = true
		s.deal.giveBack(s.k, open, true)
	case broken && a.state == Lost:
		a.state, a.reason = Failed, "its child ended while it ran"
		a.killed, a.lost = "its child ended while it ran "+a.jobs[0].Unit.Name, true
	}
	s.book(a)
	s.deal.done(a.jobs, a.wall, a.reading.took(a.jobs))
	if s.options.FailFast && !a.redo && (a.state != Passed || a.reading.bad() > 0) {
		s.cancel(failFast{s.number})
	}
	if ctx.Err() != nil || !broken && a.state != Passed && a.state != Failed {
		return false
	}
	s.refresh(ctx, a, broken)
	return true
}

// ownSignal takes a signal that nobody outside can have sent for what it is, the doing of a unit: nothing reaches the
// processes of a child of its own but by way of boxer.
func (s *server) ownSignal(a *attempt) {
	if s.shares() || a.strange == 0 {
		return
	}
	a.state, a.strange, a.reason = Failed, 0, ""
}

// refresh removes a child that is no longer as it was forked: one that a unit broke, or in which one left processes.
func (s *server) refresh(ctx context.Context, a *attempt, broken bool) {
	if !broken {
		if s.deal.left(s.k) == 0 {
			return
		}
		left := s.processes(ctx, s.child).without(s.inside)
		if len(left) == 0 {
			return
		}
		a.strays = left.names()
	}
	s.drop(ctx, s.child)
	s.alive = false
}

// drop removes one child before the end of the run. What cannot be removed is tried again, and told, at the end.
func (r *run) drop(ctx context.Context, child runner.Child) {
	if r.options.Keep && !r.shares() {
		return
	}
	if r.session.Remove(ctx, child.Key) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forked = slices.DeleteFunc(r.forked, func(c runner.Child) bool { return c.Key == child.Key })
}

// book writes down how each unit of the batch ended.
func (r *run) book(a *attempt) {
	rd := a.reading
	expected := time.Duration(0)
	for _, j := range a.jobs {
		expected += j.Expect
	}
	for _, j := range a.jobs {
		r.deal.book.End(j.Unit.Key, func(g *ledger.Go) {
			g.Started = a.started
			if expected > 0 { // its part of the command's time, unless the report knows better
				g.Took = time.Duration(float64(a.wall) * float64(j.Expect) / float64(expected))
			}
			u := rd.units[j.Unit.Key]
			if u == nil || !rd.whole || a.void {
				g.Outcome = a.outcome()
				g.Report = g.Outcome == ledger.NoResult
				return
			}
			g.Cases, g.Bad, g.Report, g.Outcome = u.cases, u.bad, true, ledger.Passed
			if u.bad > 0 {
				g.Outcome = ledger.Failed
			}
			if u.took > 0 {
				g.Took = u.took
			}
		})
	}
	if !a.void {
		r.deal.book.Command(fmt.Sprintf("%d/%d", a.number, a.batch), rd.others)
	}
}

// outcome is that of a unit of which the reports of its command say nothing.
func (a *attempt) outcome() ledger.Outcome {
	switch {
	case a.redo, a.void:
		return ledger.Interrupted
	case a.hung:
		return ledger.Hung
	case a.lost:
		return ledger.Lost
	case a.state != Passed && a.state != Failed:
		return ledger.Interrupted
	case a.reading.telling():
		return ledger.NoResult
	case a.state == Passed:
		return ledger.Passed
	}
	return ledger.Failed
}

// given notes that the units are about to run.
func (r *run) given(a *attempt) {
	r.deal.book.Give(unitsOf(a.jobs), ledger.Go{Shard: a.number, Batch: a.batch, Attempt: a.try, Child: a.child.Slug}, !a.forkBegun.IsZero())
}

func sizeOf(env []string) int {
	const own = 1 << 10 // the variables that boxer adds
	n := own
	for _, v := range env {
		n += len(v) + 9
	}
	return n
}

// processes are those of a child: their names by number.
type processes map[string]string

// listing prints the number and the parent of each process, and its name. It must do with a shell: there may be nothing
// else in a child.
const listing = `echo "$$"
for p in /proc/[0-9]*; do
	read -r line <"$p/stat" || continue
	name=${line#*(}
	set -- ${line##*) }
	echo "${p#/proc/} $2 ${name%)*}"
done 2>/dev/null
:`

// processes looks what runs in a child. Where all children share one machine, or where there is no shell, nothing can
// be told.
func (r *run) processes(ctx context.Context, child runner.Child) processes {
	if r.shares() {
		return nil
	}
	w, read, err := listen(1 << 20)
	if err != nil {
		return nil
	}
	exit, err := r.session.Exec(ctx, child.Key, runner.Command{Args: []string{"sh", "-c", listing}, Dir: "/", Env: r.options.Env, Stdout: w})
	w.Close()
	out, readErr := read()
	if err != nil || readErr != nil || exit.Code != 0 {
		return nil
	}
	return processesIn(out)
}

// processesIn reads what listing printed. The shell that printed it, and what started that, are not among them.
func processesIn(out string) processes {
	self, rest, _ := strings.Cut(out, "\n")
	found, parents := processes{}, map[string]string{}
	for line := range strings.Lines(rest) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) == 3 {
			parents[f[0]], found[f[0]] = f[1], f[2]
		}
	}
	for id := self; found[id] != "" && id != "1"; id = parents[id] {
		delete(found, id)
	}
	return found
}

func (p processes) without(before processes) processes {
	left := processes{}
	for id, name := range p {
		if before != nil && before[id] != name {
			left[id] = name
		}
	}
	return left
}

func (p processes) names() []string {
	var all []string
	for id, name := range p {
		all = append(all, fmt.Sprintf("%s (%s)", name, id))
	}
	slices.Sort(all)
	return all
}
