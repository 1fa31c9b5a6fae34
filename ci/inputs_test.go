package ci_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// notesCalls stands in for boxer where the question is what the action makes of its inputs. It keeps each call's words
// and variables, and says what it is told to say to GitHub.
const notesCalls = `#!/bin/sh
case $1 in version) echo "a stand-in for boxer"; exit ;; gc) echo "gc after $(ls "$STUBS/calls")"; exit ;; esac
echo "started by $(cat /proc/$PPID/comm)"
mkdir -p "$STUBS/calls"
n=$(ls "$STUBS/calls" | wc -l)
{ printf '%s\0' "$@"; printf '\0'; env -0; } >"$STUBS/calls/$n"
if [ -n "$BOXER_TIMINGS" ]; then
	cat "$BOXER_TIMINGS" 2>/dev/null
	echo "measured in run $GITHUB_RUN_ID" >"$BOXER_TIMINGS"
fi
[ -z "$COMPLETE" ] || echo "timings-complete=$COMPLETE" >>"$GITHUB_OUTPUT"
echo "tests=42" >>"$GITHUB_OUTPUT"
exit ${CODE:-0}
`

// call is one start of boxer.
type call struct {
	words []string
	env   map[string]string // those that start like boxer's and like an input's
}

func (m *machine) calls() []call {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.base, "stubs/calls/*"))
	if err != nil {
		m.t.Fatal(err)
	}
	var all []call
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			m.t.Fatal(err)
		}
		words, env, _ := strings.Cut(string(b), "\x00\x00")
		c := call{strings.Split(words, "\x00"), map[string]string{}}
		for _, e := range strings.Split(env, "\x00") {
			name, value, _ := strings.Cut(e, "=")
			if (strings.HasPrefix(name, "BOXER_") || strings.HasPrefix(name, "INPUT_")) && name != "BOXER_RELEASES" {
				c.env[name] = value
			}
		}
		all = append(all, c)
	}
	return all
}

func standInMachine(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, "")
	r := publish(t, notesCalls)
	m.pin("9.9.9", r.sum)
	m.env = append(m.env, "BOXER_RELEASES="+r.url)
	return m
}

// odd is a text that everything between a workflow and a sandbox could read as more than a text.
const odd = `it's "both" $x $(touch hacked) ` + "`touch hacked`" + ` a\b * ; | & %0A <i> {i} ::error::no ${{ github.token }}`

// TestInputs: each input is what boxer is told, whatever it holds, and one that is left out tells it nothing.
func TestInputs(t *testing.T) {
	t.Parallel()
	m := standInMachine(t)
	m.write("odd.txt", odd+"\nsecond 'line'\n")
	p := m.push(`
on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    env: {BOXER_TIMEOUT: 7m}
    steps:
      - uses: ` + checkout + `
      - id: odd
        run: |
          { echo 'text<<END'; cat odd.txt; echo END; } >>"$GITHUB_OUTPUT"
      - uses: boxer-ci/boxer@main
        with:
          command: ${{ steps.odd.outputs.text }}
          count: 3
          junit: |
            r/*.xml
            ${{ steps.odd.outputs.text }}
          artifacts: coverage/**
          tests: ${{ steps.odd.outputs.text }}
          list: ${{ steps.odd.outputs.text }}
          setup: ${{ steps.odd.outputs.text }}
          backend: gvisor
          retries: 2
          timeout: 5m
          worktree: shared
          node: 2/5
          working-directory: ${{ steps.odd.outputs.text }}
          args: |
            --fail-fast

            --env=A=${{ steps.odd.outputs.text }}
            -- not the end
      - id: bare
        uses: boxer-ci/boxer@main
      - uses: boxer-ci/boxer@main
        with: {command: "", count: "", timings: "false", install-only: "false", setup-host: "false", merge: "", version: ""}
      - uses: boxer-ci/boxer@main
        with:
          merge: |
            one
            ${{ steps.odd.outputs.text }}
          args: |
            --output
            out
          command: not run
      - uses: boxer-ci/boxer@main
        with: {install-only: true}
      - run: |
          boxer version
          echo "marker: ${{ steps.bare.outputs.tests }} tests"
`)
	p.ended("test", "success", "marker: 42 tests")
	p.prints("test", "a stand-in for boxer")
	p.prints("test", "started by act") // and not by the step's shell, which alone GitHub signals
	text := odd + "\nsecond 'line'"
	want := []call{
		{
			append(append([]string{"-C", text, "shard", "--fail-fast", "--env=A=" + odd, "second 'line'", "-- not the end", "--"}, inside(t)...), text),
			map[string]string{
				"BOXER_COUNT": "3", "BOXER_JUNIT": "r/*.xml\n" + text + "\n", "BOXER_ARTIFACTS": "coverage/**", "BOXER_TESTS": text,
				"BOXER_LIST": text, "BOXER_SETUP": text, "BOXER_BACKEND": "gvisor", "BOXER_RETRIES": "2", "BOXER_TIMEOUT": "5m",
				"BOXER_WORKTREE": "shared", "BOXER_NODE": "2/5",
			},
		},
		{[]string{"shard"}, map[string]string{"BOXER_TIMEOUT": "7m", "BOXER_TIMINGS": "*"}},
		{[]string{"shard"}, map[string]string{"BOXER_TIMEOUT": "7m"}},
		{
			[]string{"merge", "--output", "out", "--", "one", odd, "second 'line'"},
			map[string]string{"BOXER_TIMEOUT": "7m"},
		},
	}
	got := m.calls()
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d", len(got), len(want))
	}
	for i := range want {
		if timings, ok := got[i].env["BOXER_TIMINGS"]; ok && filepath.Base(timings) == "timings.json" {
			got[i].env["BOXER_TIMINGS"] = "*"
		}
		if !slices.Equal(got[i].words, want[i].words) {
			t.Errorf("call %d:\n got %q\nwant %q", i, got[i].words, want[i].words)
		}
		for name := range merged(got[i].env, want[i].env) {
			if got[i].env[name] != want[i].env[name] {
				t.Errorf("call %d: %s is %q, want %q", i, name, got[i].env[name], want[i].env[name])
			}
		}
	}
	if found, _ := filepath.Glob(filepath.Join(m.base, "cache/act/*/hostexecutor/hacked")); len(found) > 0 {
		t.Error("an input was run")
	}
}

func merged(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// TestInputsAreSettings: action.yml has the inputs and outputs that were promised, and what words.sh makes of an input
// is a variable that boxer reads.
func TestInputsAreSettings(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct{ Inputs, Outputs map[string]any }
	if err := yaml.Unmarshal(b, &action); err != nil {
		t.Fatal(err)
	}
	promised := strings.Fields(`args artifacts backend command count install-only junit list merge node retries setup setup-host tests timeout
		timings version working-directory worktree`)
	if got := slices.Sorted(maps.Keys(action.Inputs)); !slices.Equal(got, promised) {
		t.Errorf("the inputs are %q", got)
	}
	promised = strings.Fields("efficiency exit-code failures flaky html json report tests")
	if got := slices.Sorted(maps.Keys(action.Outputs)); !slices.Equal(got, promised) {
		t.Errorf("the outputs are %q", got)
	}
	settings := strings.Fields(must(t, "..", "sed", "-n", `s/^settings=(\(.*\))$/\1/p`, ".github/action/words.sh"))
	doctor := exec.Command("go", "run", "./cmd/boxer", "doctor", "--json", "--backend", "host")
	doctor.Dir, doctor.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	for _, s := range settings {
		if _, ok := action.Inputs[strings.ToLower(s)]; !ok {
			t.Errorf("words.sh reads the input %s, and there is none", strings.ToLower(s))
		}
		doctor.Env = append(doctor.Env, "BOXER_"+s+"=")
	}
	out, err := doctor.Output()
	var said struct{ Ignored []string }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || len(settings) != 11 {
		t.Fatalf("%v: settings %q, doctor says\n%s", err, settings, out)
	}
	for _, ignored := range said.Ignored {
		name, _, _ := strings.Cut(ignored, ",")
		if name = strings.TrimPrefix(name, "BOXER_"); slices.Contains(settings, name) {
			t.Errorf("boxer does not read %s", ignored)
		}
	}
}
