package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

var forkQuestions = []question{
	{"children start with the state of the parent", askState},
	{"children have files of their own and the parent is untouched", askOwnFiles},
	{"children have ports of their own", askOwnPorts},
	{"a later source sees a later state", askLater},
	{"a private worktree is the child's own", askPrivate},
	{"a live worktree is seen by all", askLive},
	{"private files that lie below children keep commands out", askBusy},
	{"lasting children outlast the session", askLasting},
	{"asking twice for four gives four", askWant},
	{"two that ask for four at once get four", askWantAtOnce},
	{"one that waits for its turn can be called off", askWantCalledOff},
	{"the environment in a child is exactly what was given", askChildEnvironment},
}

// HelperName is argv[0] of the program that Main is.
const HelperName = "boxer-conformance"

// Main is the helper that some questions run in a sandbox, if args ask for it: a server that answers with a number
// that it counts up, and its client. A test binary calls it first in TestMain.
func Main(args []string) (code int, handled bool) {
	if len(args) != 3 || filepath.Base(args[0]) != HelperName {
		return 0, false
	}
	var err error
	if args[1] == "serve" {
		err = serve(args[2])
	} else {
		err = ask(args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

func serve(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintln(c, n)
		c.Close()
	}
}

func ask(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	fmt.Print(line)
	return err
}

// helper puts the helper's program into the worktree, from where every sandbox can run it.
func (b *bench) helper() {
	b.Helper()
	self, err := os.Executable()
	b.ok(err)
	in, err := os.Open(self)
	b.ok(err)
	defer in.Close()
	out, err := os.OpenFile(b.path(HelperName), os.O_CREATE|os.O_WRONLY, 0o755)
	b.ok(err)
	_, err = io.Copy(out, in)
	b.ok(err)
	b.ok(out.Close())
}

func askState(b *bench) {
	b.helper()
	s := b.start(func(spec *runner.Spec) {
		spec.Services = []runner.Service{{Name: "counter", Run: "exec ./" + HelperName + " serve 127.0.0.1:4711", Ready: "./" + HelperName + " ask 127.0.0.1:4711"}}
		spec.Setup = []runner.SetupStep{{Run: "echo prepared >/var/tmp/state"}}
	})
	count := func(name string) string { return b.sh(s, name, "./"+HelperName+" ask 127.0.0.1:4711") }
	count("")
	before := count("")
	children := b.children(s, 2)
	inParent := next(b, before)
	inChild := next(b, inParent) // a backend that looks whether a child's services answer has counted there too
	for _, c := range children {
		if got := count(c.Key); got != inParent && got != inChild {
			b.Errorf("the service in %s: %s, want %s or %s", c.Key, got, inParent, inChild)
		}
		equal(b, "the file in "+c.Key, b.sh(s, c.Key, "cat /var/tmp/state"), "prepared")
	}
	equal(b, "the service in the parent", count(""), inParent)
}

func next(b *bench, n string) string {
	b.Helper()
	var i int
	_, err := fmt.Sscan(n, &i)
	b.ok(err)
	return itoa(i + 1)
}

func askOwnFiles(b *bench) {
	s := b.start(nil)
	b.sh(s, "", "echo parent >/var/tmp/whose; echo parent >/tmp/whose")
	children := b.children(s, 3)
	for _, c := range children {
		b.sh(s, c.Key, fmt.Sprintf("echo %d >/var/tmp/whose; echo %d >/tmp/whose; rm -f /etc/hostname; mkdir /var/tmp/of%d", c.Index, c.Index, c.Index))
	}
	for _, c := range children {
		equal(b, c.Key, b.sh(s, c.Key, "cat /var/tmp/whose /tmp/whose; cd /var/tmp; ls -d of*"), fmt.Sprintf("%d\n%d\nof%d", c.Index, c.Index, c.Index))
	}
	equal(b, "the parent", b.sh(s, "", "cat /var/tmp/whose /tmp/whose; ls /var/tmp | grep -c ^of || true"), "parent\nparent\n0")
	if _, err := os.Stat("/var/tmp/whose"); err == nil {
		b.Error("it is on the host")
	}
}

func askOwnPorts(b *bench) {
	b.helper()
	s := b.start(nil)
	children := b.children(s, 3)
	for _, c := range children {
		b.sh(s, c.Key, "./"+HelperName+" serve 127.0.0.1:4712 >/dev/null 2>&1 </dev/null &")
	}
	for _, c := range children {
		b.eventually("an answer in "+c.Key, func() bool {
			r, err := b.run(s, c.Key, shell("./"+HelperName+" ask 127.0.0.1:4712"))
			return err == nil && r.out == "1\n"
		})
	}
}

func askLater(b *bench) {
	s := b.start(nil)
	b.sh(s, "", "echo 1 >/var/tmp/state")
	first := b.source(s, runner.ForkOptions{})
	b.sh(s, "", "echo 2 >/var/tmp/state")
	second := b.source(s, runner.ForkOptions{})
	old, young := b.fork(first, 1)[0], b.fork(second, 1)[0]
	equal(b, "of the first source", b.sh(s, old.Key, "cat /var/tmp/state"), "1")
	equal(b, "of the second source", b.sh(s, young.Key, "cat /var/tmp/state"), "2")
	b.ok(second.Release(b.ctx()))
	equal(b, "of the first source again", b.sh(s, b.fork(first, 1)[0].Key, "cat /var/tmp/state"), "1")
}

func askPrivate(b *bench) {
	b.write("given", "given\n")
	s := b.start(func(spec *runner.Spec) {
		if b.Branded {
			spec.Worktree = runner.Private
		}
	})
	src := b.source(s, runner.ForkOptions{Worktree: runner.Private})
	children := b.fork(src, 2)
	for _, c := range children {
		b.sh(s, c.Key, fmt.Sprintf("cat given; echo %d >own; echo %d >given; mkdir d; echo x >d/r.xml", c.Index, c.Index))
	}
	for _, c := range children {
		equal(b, c.Key, b.sh(s, c.Key, "cat own given"), fmt.Sprintf("%d\n%d", c.Index, c.Index))
		got, dest := b.collect(s, c.Key, runner.Pick{Patterns: []string{"own", "d/*.xml"}})
		b.brings(c.Key, got, "d/r.xml", "own")
		text, err := os.ReadFile(dest + "/own")
		b.ok(err)
		equal(b, "collected", string(text), itoa(c.Index)+"\n")
	}
	equal(b, "the parent", b.sh(s, "", "cat given; ls"), "given\ngiven")
	text, err := os.ReadFile(b.path("given"))
	b.ok(err)
	equal(b, "the host", string(text), "given\n")
	b.ok(s.Clear(b.ctx(), children[0].Key, runner.Pick{Base: b.Scope.Worktree, Patterns: []string{"given", "own"}}))
	equal(b, "the cleared child", b.sh(s, children[0].Key, "ls"), "d")
	equal(b, "the other child", b.sh(s, children[1].Key, "ls"), "d\ngiven\nown")
	if _, err := os.Stat(b.path("given")); err != nil {
		b.Error("the clearing went through to the host")
	}
}

func askLive(b *bench) {
	s := b.start(nil)
	children := b.children(s, 2)
	b.sh(s, children[0].Key, "echo 1 >seen")
	equal(b, "the other child", b.sh(s, children[1].Key, "cat seen"), "1")
	equal(b, "the parent", b.sh(s, "", "cat seen"), "1")
	text, err := os.ReadFile(b.path("seen"))
	b.ok(err)
	equal(b, "the host", string(text), "1\n")
}

func askBusy(b *bench) {
	s := b.start(func(spec *runner.Spec) {
		spec.Worktree = runner.Private
		spec.Setup = []runner.SetupStep{{Run: "echo built >built"}}
	})
	src := b.source(s, runner.ForkOptions{Worktree: runner.Private})
	c := b.fork(src, 1)[0]
	equal(b, "what setup made is in the child", b.sh(s, c.Key, "cat built"), "built")
	if _, err := os.Stat(b.path("built")); err == nil {
		b.Error("what setup made is on the host")
	}
	_, err := b.run(s, "", shell("echo never"))
	b.refused(err, runner.IsBusy)
	all, err := s.List(b.ctx())
	b.ok(err)
	equal(b, "state", all[0].State, runner.Busy)
	b.ok(s.Remove(b.ctx(), c.Key))
	b.ok(src.Release(b.ctx()))
	equal(b, "afterwards", b.sh(s, "", "cat built"), "built")
}

// want asks for n lasting children in all and makes those that are missing.
func (b *bench) want(s runner.Session, n int) (made int, err error) {
	src, err := s.(runner.Forker).Freeze(b.ctx(), runner.ForkOptions{Lasting: true, Want: n})
	if err != nil {
		return 0, err
	}
	for range n - len(src.Have()) {
		if _, err := src.Fork(b.ctx()); err != nil {
			return made, err
		}
		made++
	}
	return made, src.Release(b.ctx())
}

func askLasting(b *bench) {
	s := b.start(nil)
	made, err := b.want(s, 2)
	b.ok(err)
	equal(b, "made", made, 2)
	own := b.children(s, 1)[0]
	equal(b, "the name of its own", own.Index, 3)
	b.close(s)
	again := b.attach()
	b.lists(again, 1, 2)
	equal(b, "it lives", b.sh(again, b.Scope.Child(2).Key, "echo yes"), "yes")
	b.ok(again.Down(b.ctx()))
}

func askWant(b *bench) {
	s := b.start(nil)
	b.children(s, 1) // does not count
	for i, want := range []int{4, 0} {
		made, err := b.want(s, 4)
		b.ok(err)
		equal(b, fmt.Sprintf("made by ask %d", i+1), made, want)
	}
	b.lists(s, 1, 2, 3, 4, 5)
	b.ok(s.Remove(b.ctx(), b.Scope.Child(3).Key))
	src, err := s.(runner.Forker).Freeze(b.ctx(), runner.ForkOptions{Lasting: true, Want: 4})
	b.ok(err)
	var have []int
	for _, c := range src.Have() {
		have = append(have, c.Index)
	}
	if !slices.Equal(have, []int{2, 4, 5}) {
		b.Errorf("it has %v", have)
	}
	equal(b, "the one that was missing", b.fork(src, 1)[0].Index, 3)
	b.ok(src.Release(b.ctx()))
	made, err := b.want(s, 2) // fewer than there are: nothing is taken away
	b.ok(err)
	equal(b, "made", made, 0)
	b.lists(s, 1, 2, 3, 4, 5)
}

func askWantAtOnce(b *bench) {
	s := b.start(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 3 {
		other := b.attach()
		wg.Go(func() {
			made, err := b.want(other, 4)
			if err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += made
		})
	}
	wg.Wait()
	equal(b, "made in all", total, 4)
	b.lists(s, 1, 2, 3, 4)
}

func askWantCalledOff(b *bench) {
	s := b.start(nil)
	first, err := s.(runner.Forker).Freeze(b.ctx(), runner.ForkOptions{Lasting: true, Want: 1})
	b.ok(err)
	ctx, cancel := context.WithTimeout(b.ctx(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.(runner.Forker).Freeze(ctx, runner.ForkOptions{Lasting: true, Want: 1}); err == nil {
		b.Error("two counted at the same time")
	}
	other := b.attach()
	b.ok(first.Release(b.ctx()))
	holding, err := other.(runner.Forker).Freeze(b.ctx(), runner.ForkOptions{Lasting: true, Want: 1})
	b.ok(err)
	_ = holding
	b.close(other) // gives it back
	made, err := b.want(s, 1)
	b.ok(err)
	equal(b, "made", made, 1)
}

func askChildEnvironment(b *bench) {
	s := b.start(nil)
	c := b.children(s, 1)[0]
	r, err := b.run(s, c.Key, runner.Command{Args: []string{"env", "-0"}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/", "A=b c"}})
	b.ok(err)
	got := strings.Split(strings.TrimSuffix(r.out, "\x00"), "\x00")
	slices.Sort(got) // gVisor gives them in any order
	equal(b, "the environment", strings.Join(got, "\n"), "A=b c\nHOME=/\nPATH=/usr/bin:/bin")
}
