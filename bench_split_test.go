//go:build linux

package boxer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// How others deal the same units, beside boxer, in the same minutes:
// go test -run '^$' -bench Split -benchtime 1x .
//
// 40 units that wait for 0.1 s and one, the last in the list, that waits for 2 s, on two workers. No deal can be done
// in less than 3 s. `dealt/bound` is what the units of the busier worker take, divided by these 3 s: the deal alone.
// `wall/bound` has everything in it: the start of the tool, its own work for each file, and how busy the machine is.

const (
	shortUnits  = 40
	shortTakes  = 100 * time.Millisecond
	longTakes   = 2 * time.Second
	splitsBound = 3 * time.Second
)

func BenchmarkSplit(b *testing.B) {
	for _, t := range tools() {
		b.Run(strings.NewReplacer(" ", "_", ",", "").Replace(t.name), func(b *testing.B) {
			needed, _, _ := strings.Cut(t.needs, " ")
			if _, err := exec.LookPath(needed); err != nil {
				b.Skip("not on PATH: " + t.needs)
			}
			p := newPerson(b, os.Getuid(), "")
			log := filepath.Join(p.base, "split.log")
			p.env = append(p.env, "SPLIT_LOG="+log)
			files := t.plant(b, p)
			var dealt, wall time.Duration
			for b.Loop() {
				os.Remove(log)
				began := time.Now()
				if err := t.run(p, files); err != nil {
					b.Fatal(err)
				}
				wall += time.Since(began)
				dealt += busier(b, log)
			}
			b.ReportMetric(float64(dealt)/float64(splitsBound)/float64(b.N), "dealt/bound")
			b.ReportMetric(float64(wall)/float64(splitsBound)/float64(b.N), "wall/bound")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("gotestsum_ci-matrix", func(b *testing.B) {
		if _, err := exec.LookPath("gotestsum"); err != nil {
			b.Skip("not on PATH: gotestsum (go install gotest.tools/gotestsum@latest)")
		}
		var dealt time.Duration
		for b.Loop() {
			dealt = ciMatrix(b)
		}
		b.ReportMetric(float64(dealt)/float64(splitsBound), "dealt/bound") // it deals, and runs nothing
		b.ReportMetric(0, "ns/op")
	})
}

// plant writes the units and what else the tool needs.
func (t tool) plant(b *testing.B, p *person) []string {
	texts, files := map[string]string{}, []string{}
	for name, text := range t.more {
		texts[name] = text
	}
	for i := 1; i <= shortUnits+1; i++ {
		name := fmt.Sprintf(t.file, i)
		fill := strings.NewReplacer("SECONDS", fmt.Sprintf("%g", unitTakes(i).Seconds()), "NAME", fmt.Sprint(i))
		files, texts[name] = append(files, name), fill.Replace(t.unit)
	}
	for name, text := range texts {
		path := filepath.Join(p.project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	chown(b, p.project, p.uid)
	p.commit()
	return files
}

// busier reads who did what and gives the time of the worker that had more. Each unit must have run once.
func busier(b *testing.B, log string) time.Duration {
	text, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	loads, ran := map[string]time.Duration{}, map[int]bool{}
	for line := range strings.Lines(string(text)) {
		var worker string
		var unit int
		if _, err := fmt.Sscan(line, &worker, &unit); err != nil || ran[unit] {
			b.Fatalf("line %q: %v", line, err)
		}
		ran[unit] = true
		loads[worker] += unitTakes(unit)
	}
	most := time.Duration(0)
	for _, load := range loads {
		most = max(most, load)
	}
	if len(ran) != shortUnits+1 || len(loads) > 2 {
		b.Fatalf("%d units ran on %d workers", len(ran), len(loads))
	}
	return most
}

// ciMatrix gives it a log of the packages' times, and reads how it would deal them.
func ciMatrix(b *testing.B) time.Duration {
	var packages, events bytes.Buffer
	takes := map[string]time.Duration{}
	for i := 1; i <= shortUnits+1; i++ {
		name := fmt.Sprintf("example.com/u%02d", i)
		takes[name] = unitTakes(i)
		fmt.Fprintln(&packages, name)
		fmt.Fprintf(&events, `{"Time":"2026-03-04T09:10:11Z","Action":"pass","Package":"%s","Elapsed":%g}`+"\n", name, unitTakes(i).Seconds())
	}
	log := filepath.Join(b.TempDir(), "times.log")
	if err := os.WriteFile(log, events.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	c := exec.Command("gotestsum", "tool", "ci-matrix", "--partitions", "2", "--timing-files", log)
	c.Stdin = &packages
	out, err := c.Output()
	var matrix struct {
		Include []struct{ Packages string }
	}
	if err == nil {
		err = json.Unmarshal(out, &matrix)
	}
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	most, count := time.Duration(0), 0
	for _, part := range matrix.Include {
		load := time.Duration(0)
		for _, name := range strings.Fields(part.Packages) {
			load, count = load+takes[name], count+1
		}
		most = max(most, load)
	}
	if count != shortUnits+1 {
		b.Fatalf("%d packages\n%s", count, out)
	}
	return most
}
