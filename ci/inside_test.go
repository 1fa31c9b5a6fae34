package ci_test

import (
	"os/exec"
	"testing"
)

// inside are the words before a command: the shell that runs it in the sandbox.
func inside(t *testing.T) []string {
	t.Helper()
	script := must(t, "..", "env", "INPUT_NODE=", "INPUT_TIMINGS=false", "bash", "-c",
		`source .github/action/words.sh; printf %s "$inside"`)
	return []string{"sh", "-c", script, "boxer"}
}

// TestInside: how the lines of a command run in the sandbox, and where the tests go that boxer deals out.
func TestInside(t *testing.T) {
	t.Parallel()
	noBash := without(t, "bash")
	for _, row := range []struct {
		name, command string
		tests         []string
		path          string
		code          int
		prints        string
	}{
		{"quotes are the shell's own", `printf '<%s>' "it's" '"both"' a\ b`, nil, "", 0, `<it's><"both"><a b>`},
		{"a part of a pipe that fails counts", "false | true; echo on", nil, "", 1, ""},
		{"a line that fails is the last", "false\necho on", nil, "", 1, ""},
		{"where there is no bash too", "false\necho on", nil, noBash, 1, ""},
		{"its exit code is the command's", "exit 7", nil, "", 7, ""},
		{"tests go behind it", "printf '<%s>'", []string{"a b.js", "$x", "-c"}, "", 0, "<a b.js><$x><-c>"},
		{"behind its last line", "true\nprintf '<%s>'", []string{"a", "b"}, "", 0, "<a><b>"},
		{"or where it takes them", `for f in "$@"; do printf '[%s]' "$f"; done`, []string{"a b", "c"}, "", 0, "[a b][c]"},
		{"without bash too", "printf '<%s>'", []string{"a b"}, noBash, 0, "<a b>"},
		{"none is none", "printf '<%s>' x", nil, "", 0, "<x>"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			words := append(append(inside(t), row.command), row.tests...)
			c := exec.Command(words[0], words[1:]...)
			if row.path != "" {
				c.Env = []string{"PATH=" + row.path}
			}
			out, _ := c.CombinedOutput()
			if c.ProcessState.ExitCode() != row.code || string(out) != row.prints {
				t.Errorf("exit code %d, printed %q, want %d and %q", c.ProcessState.ExitCode(), out, row.code, row.prints)
			}
		})
	}
}
