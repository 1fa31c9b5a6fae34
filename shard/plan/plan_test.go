package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/shard/plan"
	"github.com/boxer-ci/boxer/shard/units"
)

// jobs reads "a:5 b:3 c?" as jobs that should take 5 and 3 seconds and one that nobody knows, which counts as one.
func jobs(text string) []plan.Job {
	var all []plan.Job
	for _, word := range strings.Fields(text) {
		name, unknown := strings.CutSuffix(word, "?")
		name, seconds, _ := strings.Cut(name, ":")
		j := plan.Job{Unit: units.Unit{Name: "./" + name, Key: name}, Expect: time.Second, Known: !unknown}
		if seconds != "" {
			j.Expect, _ = time.ParseDuration(seconds + "s")
		}
		all = append(all, j)
	}
	return all
}

func names(list []plan.Job) string {
	var words []string
	for _, j := range list {
		words = append(words, j.Unit.Key)
	}
	return strings.Join(words, " ")
}

func TestStatic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, jobs string
		n          int
		want       string // lists, separated by |
	}{
		{"longest first", "a:1 b:2 c:3 d:4 e:5", 2, "e b a|d c"},
		{"equal ones by name", "d b c a", 2, "a c|b d"},
		{"more children than jobs", "a b", 4, "a|b||"},
		{"no jobs", "", 2, "|"},
		{"one child", "a:1 b:2", 1, "b a"},
		{"no child counts as one", "a:1 b:2", 0, "b a"},
		{"a giant", "a:1 b:1 c:1 z:9", 2, "z|a b c"},
		{"unknown ones by what they count", "a:3 b? c:0.5", 2, "a|b c"},
		{"for nothing, but not all to one", "a:0 b:0 c:0 d:0", 2, "a c|b d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := jobs(tt.jobs)
			r := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				var lists []string
				for _, list := range plan.Static(all, tt.n) {
					lists = append(lists, names(list))
				}
				if got := strings.Join(lists, "|"); got != tt.want {
					t.Fatalf("got %s, want %s, for %s", got, tt.want, names(all))
				}
				r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			}
		})
	}
}

func seconds(all ...float64) []time.Duration {
	var out []time.Duration
	for _, s := range all {
		out = append(out, time.Duration(s*float64(time.Second)))
	}
	return out
}

func TestBound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   []time.Duration
		n    int
		want float64
	}{
		{nil, 2, 0},
		{seconds(4), 2, 4},
		{seconds(1, 1, 1, 1), 2, 2},
		{seconds(1, 9, 1), 2, 9},
		{seconds(5, 5, 5), 2, 10},
		{seconds(5, 4, 3, 0.1), 2, 7},
		{seconds(1, 2, 3), 1, 6},
		{seconds(1, 2, 3), 0, 6},
		{seconds(1, 2), 2, 2},
	} {
		if got := plan.Bound(tt.of, tt.n).Seconds(); got != tt.want {
			t.Errorf("Bound(%v, %d) = %v, want %v", tt.of, tt.n, got, tt.want)
		}
	}
}

// No deal of all that there are may be below the bound.
func TestBoundHolds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n, count := 1+r.IntN(3), 1+r.IntN(6)
		takes := draw(count, func(int) float64 { return r.ExpFloat64() })
		best := time.Duration(1 << 62)
		for deal := range pow(n, count) {
			loads := make([]time.Duration, n)
			for _, d := range takes {
				loads[deal%n] += d
				deal /= n
			}
			best = min(best, slices.Max(loads))
		}
		if b := plan.Bound(takes, n); b > best {
			t.Fatalf("bound %s, best %s, for %v and %d", b, best, takes, n)
		}
	}
}

func pow(n, exponent int) int {
	p := 1
	for range exponent {
		p *= n
	}
	return p
}

func TestBestCount(t *testing.T) {
	t.Parallel()
	many := slices.Repeat(seconds(1), 100)
	for _, tt := range []struct {
		name        string
		of          []time.Duration
		setup, fork time.Duration
		cores, most int
		want        int
	}{
		{"nothing to do", nil, 0, 0, 4, 8, 1},
		{"as many as cores", many, 0, 0, 4, 8, 4},
		{"as many as are allowed", many, 0, 0, 64, 8, 8},
		{"no more than units", seconds(1, 1, 1), 0, 0, 8, 8, 3},
		{"forks cost more than they save", seconds(1, 1, 1, 1), 0, 3 * time.Second, 8, 8, 1},
		{"forks that cost something", many, 0, time.Second, 64, 64, 9},
		{"one giant: one beside it is enough", seconds(10, 1, 1, 1, 1), 0, 0, 8, 8, 2},
		{"next to a long set-up the rest makes no difference", seconds(1, 1), 10 * time.Minute, 0, 8, 8, 1},
		{"cores unknown", many, 0, 0, 0, 8, 1},
		{"none allowed", many, 0, 0, 4, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := plan.BestCount(tt.of, tt.setup, tt.fork, tt.cores, tt.most); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func ExampleStatic() {
	for i, list := range plan.Static(jobs("slow:9 a:3 b:3 c:3"), 2) {
		fmt.Println(i+1, names(list))
	}
	// Output:
	// 1 slow
	// 2 a b c
}
