package cmd_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/boxer-ci/boxer/runner"
)

// machineDies kills the process that one of smolvm's machines runs in: the sandbox of this folder, or a child.
func machineDies(ts *testscript.TestScript, scope runner.Scope, name string) {
	key := scope.Key
	if name != scope.Slug {
		index, ok := scope.ChildIndex(name)
		if !ok {
			ts.Fatalf("%s is no name here", name)
		}
		key = scope.Child(index).Key
	}
	ls := exec.Command(filepath.Join(standIn, "smolvm"), "machine", "ls", "--json")
	ls.Env = environ(ts)
	out, err := ls.Output()
	ts.Check(err)
	var all []struct {
		Name string
		PID  int
	}
	ts.Check(json.Unmarshal(out, &all))
	for _, m := range all {
		if m.Name == key && m.PID > 0 {
			ts.Check(syscall.Kill(m.PID, syscall.SIGKILL))
			return
		}
	}
	ts.Fatalf("the machine %s does not run", key)
}
