package report

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRivals merges the same files with boxer's merger and with two others, each in a process of its own, and
// reads them with go-junit alone, which writes nothing. On a machine that does other work too, cpu-s tells more than
// the time.
func BenchmarkRivals(b *testing.B) {
	for _, shape := range []struct {
		files, cases int
		rivals       bool // else they would take minutes and gigabytes
	}{{100, 1000, true}, {1000, 1000, false}} {
		b.Run(fmt.Sprintf("files=%d/cases=%d", shape.files, shape.files*shape.cases), func(b *testing.B) {
			files := writeMany(b, shape.files, shape.cases)
			all := shape.files * shape.cases
			b.Run("boxer", func(b *testing.B) {
				costs(b, func(to string) (int, cost) {
					r, c := measuredMode(b, "merge", append([]string{to}, files...)...)
					return r.Tests, c
				}, all)
			})
			b.Run("go-junit-reads", func(b *testing.B) {
				costs(b, func(string) (int, cost) {
					r, c := measuredMode(b, "go-junit", files...)
					return r.Tests, c
				}, all)
			})
			if !shape.rivals {
				return
			}
			b.Run("junitparser", func(b *testing.B) {
				other, err := junitparser()
				runRival(b, other, err, files, all)
			})
			b.Run("junit-report-merger", func(b *testing.B) {
				other, err := junitReportMerger(b)
				runRival(b, other, err, files, all)
			})
		})
	}
}

func runRival(b *testing.B, other rival, missing error, files []string, all int) {
	if missing != nil {
		b.Skip(missing)
	}
	costs(b, func(to string) (int, cost) {
		_, c := measured(b, other.merge(to, files))
		data, err := os.ReadFile(to)
		if err != nil {
			b.Fatal(err)
		}
		return rootCounts(b, data).Tests, c
	}, all)
}

func costs(b *testing.B, once func(to string) (int, cost), want int) {
	to := filepath.Join(b.TempDir(), "merged.xml")
	var sum cost
	n := 0
	for b.Loop() {
		tests, c := once(to)
		if tests != want {
			b.Fatalf("%d tests, want %d", tests, want)
		}
		sum.wall, sum.cpu, sum.peak = sum.wall+c.wall, sum.cpu+c.cpu, max(sum.peak, c.peak)
		n++
	}
	b.ReportMetric(sum.wall.Seconds()/float64(n), "wall-s")
	b.ReportMetric(sum.cpu.Seconds()/float64(n), "cpu-s")
	b.ReportMetric(float64(sum.peak)/1e6, "peak-MB")
}

// writeMany writes so many reports of one suite each, with right counts, since the others believe them.
func writeMany(tb testing.TB, files, cases int) []string {
	tb.Helper()
	dir := tb.TempDir()
	var paths []string
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("%04d.xml", i))
		writeReport(tb, path, i, 1, cases)
		paths = append(paths, path)
	}
	return paths
}
