package conformance

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

var prepareQuestions = []question{
	{"init service ready and setup come in order", askOrder},
	{"a service that ends early is told with its last lines", askServiceDies},
	{"a service that never gets ready is told", askNeverReady},
	{"an init that fails is told with its last lines", askInitFails},
	{"a setup that fails is told and leaves nothing", askSetupFails},
	{"another configuration is refused", askConfigChanged},
	{"two starts at once make one sandbox", askTwoStarts},
	{"a sandbox shows while it is prepared", askStarting},
	{"a start that is called off leaves nothing", askCalledOff},
}

func askOrder(b *bench) {
	log := b.path("log")
	note := func(what string) string { return "echo " + what + " >>" + log }
	var steps []string
	s, err := b.Backend.Start(b.ctx(), b.Scope, b.spec(func(spec *runner.Spec) {
		spec.Env = append(spec.Env, "GREETING=hello")
		spec.Services = []runner.Service{
			{Name: "one", Init: note("init1"), Run: note("run1 $GREETING") + "; touch up; exec sleep 1000", Ready: "test -e up"},
			{Name: "two", Init: note("init2"), Run: note("run2") + "; touch up2; exec sleep 1000", Ready: "test -e up2"},
		}
		spec.Setup = []runner.SetupStep{{Run: note("setup1")}, {Run: note("setup2")}}
	}), func(st runner.Step) {
		if st.Err != nil {
			b.Errorf("%+v", st)
		}
		steps = append(steps, st.Kind+" "+st.Name)
	})
	b.ok(err)
	b.Cleanup(func() { s.Close() })
	text := b.sh(s, "", "cat log")
	lines := strings.Split(text, "\n")
	at := func(line string) int { return slices.Index(lines, line) }
	if at("init1") != 0 || at("run1 hello") < 0 || at("init2") < 1 || at("run2") < 0 || at("setup1") < at("run1 hello") || at("setup2") != len(lines)-1 {
		b.Errorf("the order is %q", lines)
	}
	var kinds []string
	for _, st := range steps {
		kinds = append(kinds, strings.Fields(st)[0])
	}
	want := []string{"boot", "init", "init", "service", "service", "setup", "setup"}
	if !slices.Equal(kinds, want) {
		b.Errorf("told were %q, want %q", steps, want)
	}
	b.close(s)
}

// fails starts a sandbox that cannot be prepared.
func (b *bench) fails(change func(*runner.Spec)) *runner.Error {
	b.Helper()
	var last runner.Step
	s, err := b.Backend.Start(b.ctx(), b.Scope, b.spec(change), func(st runner.Step) { last = st })
	if err == nil {
		s.Close()
		b.Fatal("it started")
	}
	if last.Err == nil {
		b.Errorf("the last step told is %+v", last)
	}
	e, ok := errors.AsType[*runner.Error](err)
	if !ok {
		b.Fatalf("%v is no runner.Error", err)
	}
	if e.Scope != b.Scope.String() {
		b.Errorf("the scope in the error is %q", e.Scope)
	}
	b.nothing(b.owner())
	_, err = b.Backend.Attach(b.ctx(), b.Scope)
	b.refused(err, runner.NotRunning)
	return e
}

func askServiceDies(b *bench) {
	start := time.Now()
	e := b.fails(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Run: "echo no room left >&2; exit 7", Ready: "false", Timeout: patience}}
	})
	equal(b, "cause", e.Cause, runner.ServiceNotReady)
	if !slices.Contains(e.Output, "no room left") || !strings.Contains(e.Reason, "db") || !strings.Contains(e.Reason, "7") {
		b.Errorf("%#v", e)
	}
	if time.Since(start) > patience/2 {
		b.Error("its time limit was waited for")
	}
}

func askNeverReady(b *bench) {
	e := b.fails(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{
			Name: "web", Run: "echo listening nowhere; exec sleep 1000", Ready: "echo not yet; exit 1", Timeout: 3 * time.Second,
		}}
	})
	equal(b, "cause", e.Cause, runner.ServiceNotReady)
	if !slices.Contains(e.Output, "listening nowhere") || !slices.Contains(e.Output, "not yet") {
		b.Errorf("%q", e.Output)
	}
}

func askInitFails(b *bench) {
	e := b.fails(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Init: "echo cannot; exit 4", Run: "exec sleep 1000"}}
	})
	equal(b, "cause", e.Cause, runner.SetupFailed)
	if !slices.Contains(e.Output, "cannot") {
		b.Errorf("%q", e.Output)
	}
}

func askSetupFails(b *bench) {
	h := b.path("pid")
	e := b.fails(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Run: "exec sleep 1000"}}
		spec.Setup = []runner.SetupStep{
			{Run: "echo first >" + h}, {Run: "seq 1 100; echo the end; exit 9"}, {Run: "echo third >" + b.path("third")},
		}
	})
	equal(b, "cause", e.Cause, runner.SetupFailed)
	if len(e.Output) == 0 || e.Output[len(e.Output)-1] != "the end" || len(e.Output) > 40 || !strings.Contains(e.Reason, "9") {
		b.Errorf("%#v", e)
	}
	if _, err := os.Stat(b.path("third")); err == nil {
		b.Error("setup went on after a step that failed")
	}
}

func askConfigChanged(b *bench) {
	s := b.start(func(spec *runner.Spec) { spec.Setup = []runner.SetupStep{{Run: "true"}} })
	b.ok(s.Keep(b.ctx()))
	_, err := b.Backend.Start(b.ctx(), b.Scope, b.spec(func(spec *runner.Spec) { spec.Setup = []runner.SetupStep{{Run: "false"}} }), nil)
	b.refused(err, runner.ConfigChanged)
	again := b.start(func(spec *runner.Spec) {
		spec.Setup = []runner.SetupStep{{Run: "true"}}
		spec.Env = append(spec.Env, "NEW=1") // no other sandbox for that
	})
	equal(b, "started the second time", again.Started(), false)
	equal(b, "started the first time", s.Started(), true)
	equal(b, "it still works", b.sh(s, "", "echo yes"), "yes")
}

func askTwoStarts(b *bench) {
	const callers = 4
	count := b.path("count")
	sessions := make([]runner.Session, callers)
	steps := make([]int, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			var err error
			sessions[i], err = b.Backend.Start(b.ctx(), b.Scope, b.spec(func(spec *runner.Spec) {
				spec.Setup = []runner.SetupStep{{Run: "sleep 0.2; echo once >>" + count}}
			}), func(runner.Step) { steps[i]++ })
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	started, told := 0, 0
	for i, s := range sessions {
		if s == nil {
			continue
		}
		defer s.Close()
		if s.Started() {
			started++
		}
		if steps[i] > 0 {
			told++
		}
		equal(b, "the setup of all", b.sh(s, "", "cat count"), "once")
	}
	equal(b, "that started it", started, 1)
	equal(b, "that were told the steps", told, 1)
}

func askStarting(b *bench) {
	gate := b.path("gate")
	done := make(chan runner.Session, 1)
	go func() {
		s, err := b.Backend.Start(b.ctx(), b.Scope, b.spec(func(spec *runner.Spec) {
			spec.Setup = []runner.SetupStep{{Run: "while ! test -e " + gate + "; do sleep 0.02; done"}}
		}), nil)
		if err != nil {
			b.Error(err)
		}
		done <- s
	}()
	var other runner.Session
	b.eventually("it can be seen", func() bool {
		var err error
		other, err = b.Backend.Attach(b.ctx(), b.Scope)
		return err == nil
	})
	all, err := other.List(b.ctx())
	b.ok(err)
	if len(all) != 1 || all[0].State != runner.Starting {
		b.Errorf("%+v", all)
	}
	b.close(other)
	b.write("gate", "")
	s := <-done
	if s == nil {
		return
	}
	all, err = s.List(b.ctx())
	b.ok(err)
	equal(b, "state", all[0].State, runner.Running)
	b.close(s)
}

func askCalledOff(b *bench) {
	ctx, cancel := contextOf(b)
	go func() {
		b.eventually("setup is under way", func() bool { _, err := os.Stat(b.path("under-way")); return err == nil })
		cancel(errEnough)
	}()
	_, err := b.Backend.Start(ctx, b.Scope, b.spec(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "db", Run: "exec sleep 1000"}}
		spec.Setup = []runner.SetupStep{{Run: "touch under-way; exec sleep 1000"}}
	}), nil)
	if !errors.Is(err, errEnough) {
		b.Errorf("%v", err)
	}
	b.nothing(b.owner())
}
