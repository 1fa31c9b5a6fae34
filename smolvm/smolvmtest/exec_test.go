//go:build linux

package smolvmtest_test

import (
	"bufio"
	"io"
	"strings"
	"syscall"
	"time"
)

func askExec(w *world) {
	w.machine("m")
	w.branch("m", "c")
	for _, name := range []string{"m", "c"} {
		exec := func(stdin string, args ...string) result {
			return w.given(stdin, append([]string{"machine", "exec", "--name", name}, args...)...)
		}
		w.equal("plain", exec("", "--", "sh", "-c", "echo out; echo err >&2; exit 3"), result{"out\n", "err\n", 3})
		w.equal("-i", exec("", "-i", "--", "sh", "-c", "echo out; echo err >&2; exit 4"), result{"out\n", "err\n", 4})
		w.equal("--stream", exec("", "--stream", "--", "sh", "-c", "echo out; echo err >&2; exit 255"), result{"out\n", "err\n", 255})
		w.equal("-t", exec("", "-i", "-t", "--", "sh", "-c", "echo out; echo err >&2"), result{"out\nerr\n", "", 0})
		w.equal("stdin is closed", exec("text", "--", "cat"), result{"", "", 0})
		w.equal("with --stream too", exec("text", "--stream", "--", "cat"), result{"", "", 0})
		w.equal("-i passes it", exec("\x00bytes\xff", "-i", "--", "cat"), result{"\x00bytes\xff", "", 0})
		w.equal("a reader that stops early", exec(strings.Repeat("x", 1<<20), "-i", "--", "head", "-c", "1"), result{"x", "", 0})
		w.equal("a signal", exec("", "--", "sh", "-c", "kill -SEGV $$").code, 139)
		w.equal("arguments", exec("", "--", "printf", "%s|", "a b", "", "'\"$X", "ü\n").out, "a b||'\"$X|ü\n|")
		r := exec("", "-i", "--", "/nowhere/program")
		if r.code != 1 || !strings.HasPrefix(r.err, "Error: ") {
			w.Errorf("%+v", r)
		}
		r = exec("", "-d", "--", "sh", "-c", "echo $$ >/var/tmp/detached; exec sleep 1000")
		pid := strings.TrimSpace(r.out)
		w.eventually("the detached one runs", func() bool { return w.sh(name, "cat /var/tmp/detached; true") == pid })
		w.sh(name, "kill -0 "+pid)
	}
	w.refused("--user", "machine", "exec", "--name", "m", "-u", "nobody", "--", "true")
}

// askLive looks at output while the command runs: it waits for a file that comes only after its first line was seen.
func askLive(w *world) {
	dir := w.folder("mount")
	w.machine("m", "-v", dir+":/mnt/x")
	const line = "echo first; until test -e /mnt/x/go; do sleep 0.02; done; rm /mnt/x/go; echo last; echo err >&2"
	for _, flag := range []string{"-i", "--stream"} {
		cmd := w.command("machine", "exec", "--name", "m", flag, "--", "sh", "-c", line)
		out, err := cmd.StdoutPipe()
		if err != nil {
			w.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
		r := bufio.NewReader(out)
		text, err := r.ReadString('\n')
		if text != "first\n" {
			w.Errorf("%s: %q, %v", flag, text, err)
		}
		w.write(dir+"/go", "")
		rest, _ := io.ReadAll(r)
		w.equal(flag, string(rest), "last\n")
		if err := cmd.Wait(); err != nil {
			w.Error(err)
		}
	}
	cmd := w.command("machine", "exec", "--name", "m", "--", "sh", "-c", "echo err >&2; touch /mnt/x/began; "+line)
	both, pipe := io.Pipe()
	cmd.Stdout, cmd.Stderr = pipe, pipe
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(both)
		got <- string(b)
	}()
	w.eventually("it began", func() bool { return w.sh("m", "ls /mnt/x") == "began" })
	select {
	case text := <-got:
		w.Errorf("buffered output came at once: %q", text)
	default:
	}
	w.write(dir+"/go", "")
	cmd.Wait()
	pipe.Close()
	w.equal("stdout before stderr", <-got, "first\nlast\nerr\nerr\n")
	begin := time.Now()
	w.equal("one that leaves a process behind", w.ok("machine", "exec", "--name", "m", "-i", "--", "sh", "-c", "echo out; sleep 1000 &"), "out\n")
	if took := time.Since(begin); took > 20*time.Second {
		w.Errorf("took %s", took)
	}
}

func askEnvironment(w *world) {
	w.machine("m", "-e", "A=record", "-e", "B=record", "--workdir", "/usr")
	w.equal("what is there", w.sh("m", "echo $A $B $HOME; pwd"), "record record /root\n/usr")
	out := w.with("SECRET=s3", "HOST_ONLY=x").ok("machine", "exec", "--name", "m", "-e", "B=flag", "--secret-env", "C=SECRET", "-w", "/etc", "--",
		"sh", "-c", "echo $A $B $C ${HOST_ONLY-none}; pwd")
	w.equal("the flags win", out, "record flag s3 none\n/etc\n")
	w.branch("m", "c")
	w.equal("in a child", w.sh("c", "echo $A $B; pwd"), "record record\n/usr")
	w.refused("", "machine", "exec", "--name", "m", "-w", "/nowhere", "--", "true")
}

func askTimeout(w *world) {
	w.machine("m")
	w.machine("image", "--image", "alpine")
	r := w.run("machine", "exec", "--name", "m", "--timeout", "3s", "--", "sh", "-c", "echo out; exec sleep 1000")
	w.equal("bare", r, result{"out\n", "", 124})
	r = w.run("machine", "exec", "--name", "image", "--timeout", "300ms", "--", "sleep", "1000")
	w.equal("image", r, result{"", "command timed out after 300ms\n", 124})
	r = w.run("machine", "exec", "--name", "m", "-i", "--timeout", "300ms", "--", "sleep", "1000")
	w.equal("-i", r, result{"", "", 124})
	w.equal("what is left", w.sh("m", "pgrep -x sleep | wc -l"), "0")
	w.equal("in time", w.run("machine", "exec", "--name", "m", "--timeout", "1m", "--", "sh", "-c", "exit 5").code, 5)
}

// askKilled kills the caller in every way: the process group inside gets SIGKILL and nothing before it.
func askKilled(w *world) {
	w.machine("m")
	w.branch("m", "c")
	for _, name := range []string{"m", "c"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
			cmd := w.command("machine", "exec", "--name", name, "-i", "--", "sh", "-c",
				"trap 'echo asked >/var/tmp/asked; exit' TERM INT; sleep 1000 & echo ready; wait")
			out, err := cmd.StdoutPipe()
			if err != nil {
				w.Fatal(err)
			}
			stdin, err := cmd.StdinPipe() // stays open
			if err != nil {
				w.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				w.Fatal(err)
			}
			if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				w.Fatalf("%q", line)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				w.Fatal(err)
			}
			cmd.Wait()
			stdin.Close()
			w.equal("exit code that the caller sees", cmd.ProcessState.ExitCode(), -1)
			w.eventually("nothing of it is left", func() bool { return w.sh(name, "pgrep -x sleep; true") == "" })
			w.equal("asked first", w.sh(name, "cat /var/tmp/asked 2>/dev/null || echo no"), "no")
			w.is(name, "running")
		}
	}
	cmd := w.command("machine", "exec", "--name", "m", "-d", "--", "sleep", "1000")
	if err := cmd.Run(); err != nil {
		w.Fatal(err)
	}
	w.equal("a detached one lives", w.sh("m", "pgrep -x sleep | wc -l"), "1")
}

func askMuch(w *world) {
	w.machine("m")
	r := w.run("machine", "exec", "--name", "m", "--", "head", "-c", "11534336", "/dev/zero")
	w.equal("as much as there may be", len(r.out), 11534336)
	r = w.run("machine", "exec", "--name", "m", "--", "head", "-c", "11534337", "/dev/zero")
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "Error: agent operation failed: exec: command output exceeded") {
		w.Errorf("plain: %d, %q", r.code, r.err)
	}
	r = w.run("machine", "exec", "--name", "m", "--stream", "--", "sh", "-c", "head -c 6000000 /dev/zero; head -c 6000000 /dev/zero >&2; echo more >&2")
	if r.code != 1 || !strings.Contains(r.err, "error: ") || !strings.Contains(r.err, "streaming output exceeded") {
		w.Errorf("--stream: %d", r.code)
	}
	r = w.run("machine", "exec", "--name", "m", "-i", "--", "head", "-c", "20000000", "/dev/zero")
	w.equal("-i has no limit", len(r.out), 20000000)
}

func askNotRunning(w *world) {
	const text = "agent operation failed: connect: machine 'm' is not running. Use 'smolvm machine start --name m' first."
	w.refused("vm not found: m", "machine", "exec", "--name", "m", "--", "true")
	w.ok("machine", "create", "--name", "m")
	w.refused(text, "machine", "exec", "--name", "m", "--", "true")
	w.is("m", "created") // nothing starts by itself
	w.ok("machine", "start", "--name", "m")
	w.ok("machine", "stop", "--name", "m")
	w.refused(text, "machine", "exec", "--name", "m", "-i", "--", "true")
}
