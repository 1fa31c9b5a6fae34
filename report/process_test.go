package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/joshdk/go-junit"
)

// This binary is also the process whose memory is measured: a heap says nothing of what the system has to give.
const processMode = "BOXER_REPORT_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(processMode) {
	case "merge":
		os.Exit(mergeProcess(os.Args[1], os.Args[2:]))
	case "go-junit":
		os.Exit(goJUnitProcess(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// processResult is what such a process says of itself.
type processResult struct {
	Totals
	Unread []Kind
	Peak   int64 // bytes of memory that it had at most
}

// mergeProcess takes each file for the report of a shard, as boxer merge does.
func mergeProcess(to string, files []string) int {
	var all []Attempt
	for i, f := range files {
		all = append(all, Attempt{
			Shard: i + 1, Of: len(files), Attempt: 1, Merged: true, Configured: true, Reports: []File{{Path: f, Name: filepath.Base(f)}},
		})
	}
	r, err := Merge(all, Options{}, to)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := processResult{Totals: r.Totals, Peak: peakMemory()}
	for _, e := range r.Unread {
		out.Unread = append(out.Unread, e.Kind)
	}
	json.NewEncoder(os.Stdout).Encode(out)
	return 0
}

// goJUnitProcess reads the files one by one with go-junit alone, keeps nothing of them and writes nothing.
func goJUnitProcess(files []string) int {
	out := processResult{}
	for _, f := range files {
		suites, err := junit.IngestFile(f)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, s := range suites {
			out.Tests += s.Totals.Tests
		}
	}
	out.Peak = peakMemory()
	json.NewEncoder(os.Stdout).Encode(out)
	return 0
}

var highWater = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// peakMemory is that of this process. What wait4 tells of a child would hold the peak of its parent too.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	if m := highWater.FindSubmatch(status); m != nil {
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return n << 10
	}
	return 0
}

// cost is what a run of a program took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

func startMode(mode string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), processMode+"="+mode)
	return cmd
}

// measured runs the program to its end.
func measured(tb testing.TB, cmd *exec.Cmd) (stdout []byte, c cost) {
	tb.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s%s", cmd, err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes(), cost{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), childPeak(cmd)}
}

func measuredMode(tb testing.TB, mode string, args ...string) (r processResult, c cost) {
	tb.Helper()
	out, c := measured(tb, startMode(mode, args...))
	if err := json.Unmarshal(out, &r); err != nil {
		tb.Fatal(err)
	}
	c.peak = r.Peak
	return r, c
}
