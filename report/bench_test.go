package report

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joshdk/go-junit"
)

// peakHeap measures the most that f holds on the heap, seen often enough to miss no plateau.
func peakHeap(f func()) uint64 {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapAlloc))
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak.Load() - min(before.HeapAlloc, peak.Load())
}

// writeBig writes one report with so many suites of so many cases.
func writeBig(tb testing.TB, suites, cases int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "big.xml")
	writeReport(tb, path, 0, suites, cases)
	return path
}

// writeReport fails one case in a hundred, the first suite has the number from.
func writeReport(tb testing.TB, path string, from, suites, cases int) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `<?xml version="1.0" encoding="UTF-8"?><testsuites>`)
	for s := from; s < from+suites; s++ {
		fmt.Fprintf(w, `<testsuite name="suite %d" tests="%d" failures="%d" errors="0" skipped="0" time="%d">`+"\n", s, cases, (cases+92)/100, cases)
		for c := range cases {
			fmt.Fprintf(w, `<testcase classname="harbour.dock%d" name="moors ship %d" time="0.25" file="dock/%d_test.go">`, s, c, s)
			if c%100 == 7 {
				w.WriteString(`<failure message="line slipped" type="Check">dock_test.go:31: line slipped</failure>`)
			}
			w.WriteString("</testcase>\n")
		}
		w.WriteString("</testsuite>\n")
	}
	w.WriteString("</testsuites>\n")
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

var bigShapes = []struct{ suites, cases int }{{1000, 100}, {1000, 1000}, {1, 1_000_000}}

func BenchmarkMerge(b *testing.B) {
	for _, shape := range bigShapes {
		b.Run(fmt.Sprintf("suites=%d/cases=%d", shape.suites, shape.suites*shape.cases), func(b *testing.B) {
			path := writeBig(b, shape.suites, shape.cases)
			attempts := []Attempt{{Shard: 1, Of: 1, Attempt: 1, Exit: 1, Configured: true, Reports: []File{{Path: path, Name: "big.xml"}}}}
			benchmark(b, func() {
				r, err := Merge(attempts, Options{}, filepath.Join(b.TempDir(), "merged.xml"))
				if err != nil || r.Tests != shape.suites*shape.cases {
					b.Fatal(r.Totals, err)
				}
			})
		})
	}
}

// BenchmarkGoJUnit reads the same report with go-junit alone, and writes nothing.
func BenchmarkGoJUnit(b *testing.B) {
	for _, shape := range bigShapes {
		b.Run(fmt.Sprintf("suites=%d/cases=%d", shape.suites, shape.suites*shape.cases), func(b *testing.B) {
			path := writeBig(b, shape.suites, shape.cases)
			benchmark(b, func() {
				suites, err := junit.IngestFile(path)
				if err != nil || len(suites) != shape.suites {
					b.Fatal(len(suites), err)
				}
			})
		})
	}
}

func benchmark(b *testing.B, f func()) {
	b.ReportAllocs()
	var peak uint64
	for b.Loop() {
		peak = max(peak, peakHeap(f))
	}
	b.ReportMetric(float64(peak)/1e6, "peak-MB")
}
