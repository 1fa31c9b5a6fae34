package shard

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A shell reads the words back as they were.
func TestTyped(t *testing.T) {
	t.Parallel()
	command := []string{"npm", "test", "--", "--shard=<i>/<n>", "", "it's $HOME", "a\nb", `"\`, "*"}
	text := typed(command)
	if !strings.HasPrefix(text, "npm test -- '--shard=<i>/<n>' '' 'it'\\''s $HOME'") {
		t.Errorf("%s", text)
	}
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+text).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, command) {
		t.Errorf("got %q, want %q, %v", got, command, err)
	}
}
