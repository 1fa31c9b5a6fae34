//go:build linux

package boxer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The figures of the README, each of boxer's beside what gVisor alone takes for the same in the same minutes:
// go test -run '^$' -bench ByHand -benchtime 5x .

// BenchmarkByHand runs the fork commands as a person types them, the start of the program included, on a sandbox with
// Redis in it: fork, a command that does nothing in a child, and the removal of all children.
func BenchmarkByHand(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprint("gvisor/", n), func(b *testing.B) { report(b, func() string { return bare(b, n) }) })
		for _, ready := range []bool{false, true} {
			name, yaml := "boxer", "services: [{name: redis, run: redis-server --save ''}]\n"
			if ready {
				name, yaml = "boxer with ready line", "services: [{name: redis, run: redis-server --save '', ready: redis-cli ping}]\n"
			}
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				p := newPerson(b, os.Getuid(), "")
				if err := os.WriteFile(filepath.Join(p.project, "boxer.yaml"), []byte(yaml), 0o644); err != nil {
					b.Fatal(err)
				}
				p.must("boxer", "up")
				report(b, func() string { return p.byHand(n) })
				p.must("boxer", "down")
			})
		}
	}
}

// report runs one round per iteration and reports the mean of each figure in it, in milliseconds.
func report(b *testing.B, round func() string) {
	sums := map[string]float64{}
	for b.Loop() {
		for line := range strings.Lines(round()) {
			name, ns, _ := strings.Cut(strings.TrimSpace(line), " ")
			v, err := strconv.ParseFloat(ns, 64)
			if err != nil {
				b.Fatal(err)
			}
			sums[name] += v
		}
	}
	for name, sum := range sums {
		b.ReportMetric(sum/float64(b.N)/1e6, "ms/"+name)
	}
	b.ReportMetric(0, "ns/op")
}

// bare is a round without boxer.
func bare(b *testing.B, n int) string {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("needs root: the script mounts in a namespace of its own")
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL",
		"bash", "testdata/bare.sh", program, b.TempDir(), fmt.Sprint(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	return string(out)
}

// byHand is a round of a person's commands, timed.
func (p *person) byHand(n int) string {
	p.t.Helper()
	var out strings.Builder
	timed := func(what string, args ...string) string {
		start := time.Now()
		answer := p.must(append([]string{"boxer"}, args...)...)
		fmt.Fprintln(&out, what, time.Since(start).Nanoseconds())
		return answer
	}
	child, _, _ := strings.Cut(timed("fork", "fork", "--count", fmt.Sprint(n)), "\n")
	timed("exec", "run", "--scope", child, "--", "true")
	timed("remove", "fork", "rm", "--all")
	return out.String()
}
