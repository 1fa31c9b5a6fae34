package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestWalkReaches: only a SIGTERM that waits for a process inside a sandbox counts.
func TestWalkReaches(t *testing.T) {
	t.Parallel()
	const term, other = "0000000000004000", "0000000000010000"
	type process struct {
		pid, parent         int
		line, alone, shared string // its command line, and what waits for its thread and for all of it
	}
	tree := func(more ...process) []process {
		return append([]process{
			{1, 0, "bash", "0", "0"}, {3, 1, "boxer\x00shard", "0", "0"},
			{4, 1, "boxer-keeper\x00gvisor\x00keep\x00/tmp/sb-2.y", "0", "0"}, {5, 4, "runsc-sandbox\x00boot", "0", "0"},
			{11, 3, "boxer-keeper\x00gvisor\x00keep\x00/tmp/sb-1.x", "0", "0"}, {25, 11, "runsc-sandbox\x00boot", "0", "0"}, {53, 25, "[exe]", other, other},
		}, more...)
	}
	for _, c := range []struct {
		name string
		tree []process
		want bool
	}{
		{"nothing waits", tree(), false},
		{"for a thread inside", tree(process{54, 53, "", term, "0"}), true},
		{"for a whole process inside", tree(process{54, 25, "[exe]", "0", term}), true},
		{"for the sandbox itself, which takes signals", tree(process{26, 11, "runsc-sandbox\x00boot", "0", term}), false},
		{"for a child of the host backend", tree(process{26, 11, "sleep", "0", term}), false},
		{"in a sandbox of another scope", tree(process{54, 5, "[exe]", "0", term}), false},
		{"in one that was up before", tree(process{60, 1, "boxer-keeper\x00gvisor\x00keep\x00/tmp/sb-1.z", "0", "0"},
			process{61, 60, "runsc-sandbox\x00boot", "0", "0"}, process{62, 61, "[exe]", "0", term}), true},
	} {
		proc := t.TempDir()
		for _, p := range c.tree {
			dir := filepath.Join(proc, fmt.Sprint(p.pid))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				"stat":    fmt.Sprintf("%d (a) b 7 (x) S %d 0 0", p.pid, p.parent),
				"cmdline": p.line,
				"status":  fmt.Sprintf("Name:\ta\nSigPnd:\t%s\nShdPnd:\t%s\nSigBlk:\t%s\n", p.alone, p.shared, term),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := walkReaches(proc, "sb-1"); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
