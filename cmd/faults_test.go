package cmd

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestSift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, kept, faults string }{
		{"nothing unknown", "shard --count 4 -- npm test -- --x", "shard --count 4 -- npm test -- --x", ""},
		{"near, with a value behind", "shard --cuont 4 --junit a -- x --y", "shard --junit a -- x --y", "unknown flag --cuont, did you mean --count?"},
		{"near, with a value in it", "shard --cuont=4 -- x", "shard -- x", "unknown flag --cuont, did you mean --count?"},
		{"near a switch", "shard --kep -- x", "shard -- x", "unknown flag --kep, did you mean --keep?"},
		{"far", "up --zzzzzz", "up", "unknown flag --zzzzzz"},
		{"two", "fork --aaaaaaa --prepair", "fork", "unknown flag --aaaaaaa; unknown flag --prepair, did you mean --prepare?"},
		{"short", "run -x -c true", "run -c true", "unknown flag -x"},
		{"short with a value in it", "run -ctrue", "run -ctrue", ""},
		{"before the command", "-C /x --backend host ls --json", "ls -C /x --backend host --json", ""},
		{"the user's own flags", "run -- ls --cuont", "run -- ls --cuont", ""},
		{"the user's own flags, -- forgotten", "run ls --cuont", "run ls --cuont", ""},
		{"flags behind arguments", "fork rm a --al", "fork rm a", "unknown flag --al, did you mean --all?"},
		{"completion", "__complete shard --cu", "__complete shard --cu", ""},
	} {
		d := deps{call: &call{flags: map[string][]string{}}}
		kept, err := d.sift(newRoot(d), strings.Fields(c.args))
		if err != nil || strings.Join(kept, " ") != c.kept || d.call.faults.Error() != c.faults {
			t.Errorf("%s: kept %q, faults %q, %v", c.name, kept, d.call.faults, err)
		}
	}
}

func TestSiftUnknownCommand(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"shrad --count 4": "unknown command shrad, did you mean shard?",
		"-C /x qqqqqq":    "unknown command qqqqqq",
	} {
		d := deps{call: &call{flags: map[string][]string{}}}
		if _, err := d.sift(newRoot(d), strings.Fields(args)); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestFlagsThatAreSettings(t *testing.T) {
	t.Parallel()
	d := deps{call: &call{flags: map[string][]string{}}}
	root := newRoot(d)
	c, _, err := root.Find([]string{"shard"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ParseFlags(strings.Fields("--count 4 --junit a --junit b --keep --fail-fast=false --backend host")); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"count": {"4"}, "junit": {"a", "b"}, "keep": {"true"}, "fail-fast": {"false"}, "backend": {"host"}}
	if !reflect.DeepEqual(d.call.flags, want) {
		t.Errorf("got %v", d.call.flags)
	}
}
