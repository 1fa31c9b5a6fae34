package timing

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func book(times map[string]float64) *Book {
	b := &Book{}
	for key, s := range times {
		b.Update(map[string]time.Duration{key: seconds(s)})
	}
	return b
}

func TestExpect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		book     map[string]float64
		keys     []string
		unknown  time.Duration // what "new" counts
		matched  int
		warnings []string
	}{
		{"no file yet", nil, []string{"a", "new"}, time.Second, 0, nil},
		{"all known", map[string]float64{"a": 1, "b": 2}, []string{"a", "b"}, 0, 2, nil},
		{"one new", map[string]float64{"a": 1, "b": 2, "c": 9}, []string{"a", "b", "c", "new"}, 2 * time.Second, 3, nil},
		{"the median is of the list's own", map[string]float64{"a": 1, "b": 50, "c": 60}, []string{"a", "new"}, time.Second, 1, nil},
		{"half known", map[string]float64{"a": 1, "b": 3}, []string{"a", "b", "new", "newer"}, 2 * time.Second, 2, nil},
		{"under half known", map[string]float64{"a": 1, "b": 2}, []string{"a", "new", "newer"}, time.Second, 1,
			[]string{"the timings know 1 of the 3 units: were these renamed, or the timings made from another folder?"}},
		{"none known, of a full book", map[string]float64{"x": 4, "y": 6}, []string{"new"}, 5 * time.Second, 0,
			[]string{"the timings know 0 of the 1 units: were these renamed, or the timings made from another folder?"}},
		{"all equal", map[string]float64{"a": 1, "b": 1, "c": 1}, []string{"a", "b", "c"}, 0, 3,
			[]string{"the timings of all 3 units that they know are equal: no run has measured them"}},
		{"all zero", map[string]float64{"a": 0, "b": 0, "c": 0}, []string{"a", "b", "c", "new"}, least, 3,
			[]string{"the timings of all 3 units that they know are equal: no run has measured them"}},
		{"two equal are chance", map[string]float64{"a": 1, "b": 1}, []string{"a", "b"}, 0, 2, nil},
		{"no units", map[string]float64{"a": 1}, nil, 0, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := book(tt.book).Expect(list(tt.keys...))
			if len(e.Of) != len(tt.keys) || e.Total != len(tt.keys) || e.Matched != tt.matched || len(e.Known) != tt.matched {
				t.Errorf("got %+v", e)
			}
			if e.Of["new"] != tt.unknown || e.Known["new"] {
				t.Errorf("new counts %s, want %s", e.Of["new"], tt.unknown)
			}
			if !slices.Equal(e.Warnings, tt.warnings) {
				t.Errorf("got %q", e.Warnings)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	known := map[string]float64{"a": 10, "b": 10, "c": 1}
	for _, tt := range []struct {
		name     string
		book     map[string]float64
		measured map[string]float64
		want     string
	}{
		{"as expected", known, map[string]float64{"a": 12, "b": 9, "c": 3}, ""},
		{"a small one has grown", known, map[string]float64{"a": 10, "b": 10, "c": 9}, ""},
		{"a large one has grown", known, map[string]float64{"a": 10, "b": 25, "c": 1},
			"the timings were off by more than half: b took 25.0 s, not 10.0 s"},
		{"two alike, the first by name", map[string]float64{"a": 10, "b": 10, "d": 20}, map[string]float64{"b": 30, "a": 30, "d": 20},
			"the timings were off by more than half: a took 30.0 s, not 10.0 s"},
		{"one is gone to nothing", known, map[string]float64{"a": 0, "b": 9},
			"the timings were off by more than half: a took 0.0 s, not 10.0 s"},
		{"all slower", known, map[string]float64{"a": 21, "b": 20, "c": 2}, "the units took 2.0 times what the timings say, all alike: was that another machine?"},
		{"all faster", known, map[string]float64{"a": 2, "b": 2, "c": 0.2}, "the units took 0.2 times what the timings say, all alike: was that another machine?"},
		{"only a part ran", known, map[string]float64{"c": 1.2}, ""},
		{"trifles", map[string]float64{"a": 0.01, "b": 0.02}, map[string]float64{"a": 0.3, "b": 0.01}, ""},
		{"nothing known", nil, map[string]float64{"a": 30}, ""},
		{"nothing measured", known, nil, ""},
		{"from zero", map[string]float64{"a": 0}, map[string]float64{"a": 5}, "the timings were off by more than half: a took 5.0 s, not 0.0 s"},
		{"negative", known, map[string]float64{"a": -5, "b": 10}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			measured := map[string]time.Duration{}
			for key, s := range tt.measured {
				measured[key] = seconds(s)
			}
			if got := book(tt.book).Drift(measured); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{1, 2, 3, 100, 0}, 2}} {
		if got := median(tt.of); got != tt.want {
			t.Error(fmt.Sprint(tt.of, got))
		}
	}
}
