package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/boxer-ci/boxer/runner"
)

// dies keeper|SANDBOX|CHILD kills what keeps this folder's sandbox alive, or the processes of the sandbox itself or of
// one of its children, and returns when that shows. A child must be the one that the keeper made as its first, second
// and so on: that is how its files are numbered.
func dies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dies keeper|NAME")
	}
	scope, err := runner.ScopeOf(ts.MkAbs("."))
	ts.Check(err)
	r, err := runner.Store{Dir: filepath.Join(ts.Getenv("HOME"), ".local/state/boxer")}.Get(scope.Key)
	ts.Check(err)
	if args[0] == "keeper" {
		killTree(r.Owner.PID)
		until(ts, "the keeper is dead", func() bool { return over(r.Owner.PID) })
		return
	}
	if r.Backend == "smolvm" {
		machineDies(ts, scope, args[0])
		return
	}
	index := 0
	if args[0] != scope.Slug {
		var ok bool
		if index, ok = scope.ChildIndex(args[0]); !ok {
			ts.Fatalf("%s is no name here", args[0])
		}
	}
	killed := 0
	for _, pid := range processesOf(fmt.Sprintf("%s/sandboxes/%d/bundle", r.Dir, index)) {
		ts.Check(syscall.Kill(pid, syscall.SIGKILL))
		killed++
	}
	if killed == 0 {
		ts.Fatalf("%s has no processes", args[0])
	}
	dead := regexp.MustCompile(`(?m)^ *` + args[0] + ` +\S+ +dead`)
	until(ts, args[0]+" is dead", func() bool {
		ls := exec.Command(program, "ls")
		ls.Env = environ(ts)
		out, _ := ls.Output()
		return dead.Match(out)
	})
}

// processesOf lists those with the path, as a word or as the value of one, among their arguments.
func processesOf(path string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(line)+"\x00", path+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killTree kills a process and all below it, and gives none of them time to clear up after another.
func killTree(pid int) {
	syscall.Kill(pid, syscall.SIGSTOP)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l)
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				killTree(child)
			}
		}
	}
	syscall.Kill(pid, syscall.SIGKILL)
}

// over tells whether the process has ended; it may not have been waited for yet.
func over(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func until(ts *testscript.TestScript, what string, holds func() bool) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	ts.Fatalf("not within a minute: %s", what)
}
