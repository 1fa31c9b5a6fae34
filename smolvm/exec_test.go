package smolvm

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/runner"
)

// The tests here run the scripts that boxer brings into machines on this machine: their smolvm is a few lines of shell
// that start what stands behind --.
const bare = `#!/bin/sh
echo "$*" >>"$0.log"
while [ "$1" != -- ]; do
	[ "$1" = -d ] && detached=1
	[ "$1" = -i ] && open=1
	shift
done
shift
[ "$open" ] || exec </dev/null
if [ "$detached" ]; then "$@" >/dev/null 2>&1 & echo $!; exit 0; fi
exec "$@"
`

func guestsHere(t *testing.T, script string) *guests {
	t.Helper()
	path := filepath.Join(t.TempDir(), "smolvm")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return newGuests(program{path: path})
}

type ran struct {
	out, err string
	exit     runner.Exit
	failure  error
}

func (g *guests) run(t *testing.T, ctx context.Context, c runner.Command) ran {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Env == nil {
		c.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	var files [2]*os.File
	var texts [2]chan string
	for i := range files {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		files[i], texts[i] = w, make(chan string, 1)
		go func() { b, _ := io.ReadAll(r); r.Close(); texts[i] <- string(b) }()
	}
	c.Stdout, c.Stderr = files[0], files[1]
	exit, err := g.exec(ctx, "m", c)
	files[0].Close()
	files[1].Close()
	return ran{<-texts[0], <-texts[1], exit, err}
}

func sh(line string) runner.Command { return runner.Command{Args: []string{"/bin/sh", "-c", line}} }

func TestExecTellsItsOwnFailuresFromTheCommands(t *testing.T) {
	t.Parallel()
	g := guestsHere(t, bare)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		c     runner.Command
		exit  runner.Exit
		cause runner.Cause
		err   string
	}{
		{name: "code", c: sh("exit 77"), exit: runner.Exit{Code: 77}},
		{name: "an error of the command's that looks like smolvm's", c: sh("echo Error: mine >&2; exit 1"), exit: runner.Exit{Code: 1}, err: "Error: mine\n"},
		{name: "own 127", c: sh("exit 127"), exit: runner.Exit{Code: 127}},
		{name: "own 126", c: sh("exit 126"), exit: runner.Exit{Code: 126}},
		{name: "signal", c: sh("kill -9 $$"), exit: runner.Exit{Code: 137, Signal: syscall.SIGKILL}},
		{name: "missing", c: runner.Command{Args: []string{"no-such-program"}}, exit: runner.Exit{Code: 127}, cause: runner.CommandNotFound},
		{name: "missing path", c: runner.Command{Args: []string{"./none"}}, exit: runner.Exit{Code: 127}, cause: runner.CommandNotFound},
		{name: "not executable", c: runner.Command{Args: []string{dir + "/plain"}}, exit: runner.Exit{Code: 126}, cause: runner.CommandNotExecutable},
		{name: "no folder", c: runner.Command{Args: []string{"true"}, Dir: dir + "/none"}, exit: runner.Exit{Code: 126}, cause: "NO_FOLDER"},
	} {
		got := g.run(t, t.Context(), c.c)
		if got.exit != c.exit || runner.CauseOf(got.failure) != c.cause || got.err != c.err {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestExecFailuresOfSmolvm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		cause      runner.Cause
		reason     string
	}{
		{"not running", "Error: agent operation failed: connect: machine 'm' is not running. Use 'smolvm machine start --name m' first.", runner.Gone, "is not running. Use"},
		{"not known", "WARN x\nError: vm not found: m", runner.Gone, "does not know"},
		{"frozen", "Error: machine 'm' is frozen as a reusable fork base", runner.IsBusy, "frozen"},
		{"unknown words", "WARN first\nError: the moon is in the wrong place", runner.BackendFailed, "exit code 1: the moon is in the wrong place"},
		{"gap that stays", "Error: agent operation failed: the container c is not running", runner.BackendFailed, "the container c is not running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := guestsHere(t, "#!/bin/sh\ncat >/dev/null\nprintf '%s\\n' "+quote(c.text)+" >&2\nexit 1\n")
			got := g.run(t, t.Context(), sh("true"))
			if runner.CauseOf(got.failure) != c.cause || !strings.Contains(got.failure.Error(), c.reason) || strings.Contains(got.err, "Error:") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestExecRetriesTheGap(t *testing.T) {
	t.Parallel()
	g := guestsHere(t, "#!/bin/sh\necho x >>$0.n\nif [ $(wc -l <$0.n) -lt 3 ]; then cat >/dev/null; echo 'Error: the container c is not running' >&2; exit 1; fi\n"+strings.TrimPrefix(bare, "#!/bin/sh\n"))
	got := g.run(t, t.Context(), sh("echo there"))
	if got.out != "there\n" || got.failure != nil || got.err != "" {
		t.Errorf("%+v", got)
	}
}

func TestExecEnvironmentNeverIsAnArgument(t *testing.T) {
	t.Parallel()
	g := guestsHere(t, bare)
	env := []string{"A=b c", "TOKEN=hush'hush", "LINES=one\ntwo", "BYTES=\xff\xfe", "ODD NAME=x", "EMPTY=", "A=last", "PATH=" + os.Getenv("PATH")}
	c := runner.Command{Args: []string{"env", "-0"}, Env: env}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, stdin := range []*os.File{nil, in} {
		c.Stdin = stdin
		got := strings.Split(strings.TrimSuffix(g.run(t, t.Context(), c).out, "\x00"), "\x00")
		want := slices.Clone(env[1:])
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	log, err := os.ReadFile(g.program.path + ".log")
	if err != nil || strings.Contains(string(log), "hush") {
		t.Errorf("%v\n%s", err, log)
	}
}

func TestExecStreamsAndSignals(t *testing.T) {
	t.Parallel()
	g := guestsHere(t, bare)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { io.WriteString(w, "in\x00\xff"); w.Close() }()
	c := sh("cat; printf 'e\\000' >&2")
	c.Stdin = r
	if got := g.run(t, t.Context(), c); got.out != "in\x00\xff" || got.err != "e\x00" {
		t.Errorf("%+v", got)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1} {
		signals := make(chan os.Signal, 1)
		c := sh("trap 'exit 9' INT TERM USR1; while :; do sleep 0.02; done")
		c.Signals = signals
		signals <- sig
		if got := g.run(t, t.Context(), c); got.exit.Code != 9 || got.failure != nil {
			t.Errorf("%s: %+v", sig, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	c = sh("trap '' TERM; while :; do sleep 0.02; done")
	c.Grace = 50 * time.Millisecond
	if got := g.run(t, ctx, c); got.exit != (runner.Exit{Code: 137, Signal: syscall.SIGKILL}) || got.failure != context.DeadlineExceeded {
		t.Errorf("%+v", got)
	}
}

func TestHolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		writes []string
		passed string // before anything is flushed
		own    string
	}{
		{"plain", []string{"a\nb"}, "a\nb", ""},
		{"an error at the end", []string{"WARN x\nErr", "or: boom\n"}, "WARN x\n", "Error: boom\n"},
		{"not at the start of a line", []string{"an ", "Error: x\n"}, "an Error: x\n", ""},
		{"what only began like one", []string{"Er", "go\n"}, "Ergo\n", ""},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		h := &holder{to: w}
		for _, text := range c.writes {
			h.Write([]byte(text))
		}
		own, found := h.own()
		w.Close()
		passed, _ := io.ReadAll(r)
		if string(passed) != c.passed || found != (c.own != "") || (found && own != c.own) {
			t.Errorf("%s: passed %q, own %q %v", c.name, passed, own, found)
		}
	}
}
