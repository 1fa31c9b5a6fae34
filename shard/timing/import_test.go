package timing

import (
	"maps"
	"math"
	"testing"
	"time"
)

func TestImport(t *testing.T) {
	t.Parallel()
	s := func(n float64) time.Duration { return seconds(n) }
	for _, tt := range []struct {
		name    string
		known   []string
		results []Result
		want    map[string]time.Duration
	}{
		{"by file", []string{"test/a.js", "test/b.js"},
			[]Result{{File: "test/a.js", Seconds: 1}, {File: "./test/a.js", Seconds: 2}, {File: `test\b.js`, Seconds: 4}},
			map[string]time.Duration{"test/a.js": s(3), "test/b.js": s(4)}},
		{"parts of a file in two shards", []string{"a.js"},
			[]Result{{File: "a.js", Suite: "1", Seconds: 1}, {File: "a.js", Suite: "2", Seconds: 1}}, map[string]time.Duration{"a.js": s(2)}},
		{"an absolute file", []string{"test/a.js", "a.js"}, []Result{{File: "/home/me/app/test/a.js", Seconds: 1}},
			map[string]time.Duration{"test/a.js": s(1)}},
		{"a file seen from further down", []string{"web/test/a.js", "web/test/b.js"}, []Result{{File: "test/a.js", Seconds: 1}},
			map[string]time.Duration{"web/test/a.js": s(1)}},
		{"a file that could be two", []string{"web/test/a.js", "api/test/a.js"}, []Result{{File: "test/a.js", Seconds: 1}},
			map[string]time.Duration{}},
		{"the file decides", []string{"a.js", "b.js"}, []Result{{File: "a.js", Class: "b.js", Suite: "b.js", Seconds: 1}},
			map[string]time.Duration{"a.js": s(1)}},
		{"vitest: the class is the file", []string{"src/a.test.ts"},
			[]Result{{Class: "src/a.test.ts", Suite: "src/a.test.ts", Name: "adds", Seconds: 1}}, map[string]time.Duration{"src/a.test.ts": s(1)}},
		{"Playwright: the suite is the file, from its test folder", []string{"e2e/a.spec.ts", "e2e/b.spec.ts"},
			[]Result{{Class: "a.spec.ts", Suite: "a.spec.ts", Name: "logs in", Seconds: 1}}, map[string]time.Duration{"e2e/a.spec.ts": s(1)}},
		{"pytest: the class is a module", []string{"tests/test_a.py", "tests/test_b.py"},
			[]Result{{Class: "tests.test_a", Name: "test_x", Seconds: 1}, {Class: "tests.test_a.TestX", Name: "test_x", Seconds: 2},
				{Class: "tests.test_b.TestX.TestY", Name: "test_x", Seconds: 4}},
			map[string]time.Duration{"tests/test_a.py": s(3), "tests/test_b.py": s(4)}},
		{"pytest: tests as units", []string{"t/test_a.py::test_x", "t/test_a.py::TestC::test_x", "t/test_a.py::test_y[a/b]"},
			[]Result{{Class: "t.test_a", Name: "test_x", Seconds: 1}, {Class: "t.test_a.TestC", Name: "test_x", Seconds: 2},
				{File: "t/test_a.py", Class: "t.test_a", Name: "test_y[a/b]", Seconds: 4}},
			map[string]time.Duration{"t/test_a.py::test_x": s(1), "t/test_a.py::TestC::test_x": s(2), "t/test_a.py::test_y[a/b]": s(4)}},
		{"Java: nested classes are in one file", []string{"src/test/java/com/x/OuterTest.java", "src/test/java/com/y/OuterTest.java"},
			[]Result{{Class: "com.x.OuterTest", Seconds: 1}, {Class: "com.x.OuterTest$Nested", Seconds: 2}, {Class: "com.y.OuterTest$A$B", Seconds: 4}},
			map[string]time.Duration{"src/test/java/com/x/OuterTest.java": s(3), "src/test/java/com/y/OuterTest.java": s(4)}},
		{"Java: classes as units", []string{"com.x.OuterTest"}, []Result{{Class: "com.x.OuterTest$Nested", Seconds: 1}, {Class: "com.x.OuterTest", Seconds: 1}},
			map[string]time.Duration{"com.x.OuterTest": s(2)}},
		{"Go: packages, whose tests hold their subtests", []string{"pkg/a", "example.com/m/pkg/b"},
			[]Result{{Class: "example.com/m/pkg/a", Name: "TestX", Seconds: 3}, {Class: "example.com/m/pkg/a", Name: "TestX/one", Seconds: 1},
				{Class: "example.com/m/pkg/a", Name: "TestX/one/deep", Seconds: 1}, {Class: "example.com/m/pkg/b", Name: "TestY/only", Seconds: 4}},
			map[string]time.Duration{"pkg/a": s(3), "example.com/m/pkg/b": s(4)}},
		{"tests as units by name", []string{"TestX", "TestY"},
			[]Result{{Class: "m", Name: "TestX", Seconds: 1}, {Class: "m", Name: "TestY/only", Seconds: 2}, {Class: "m", Name: "TestZ", Seconds: 4}},
			map[string]time.Duration{"TestX": s(1), "TestY": s(2)}},
		{"folders as units", []string{"test", "test/deep"},
			[]Result{{File: "test/a.js", Seconds: 1}, {File: "test/deep/er/b.js", Seconds: 2}, {File: "src/a.js", Seconds: 4}},
			map[string]time.Duration{"test": s(1), "test/deep": s(2)}},
		{"no unit's", []string{"a.js"}, []Result{{File: "b.js", Class: "x.y", Suite: "z", Name: "w", Seconds: 1}, {}}, map[string]time.Duration{}},
		{"senseless times", []string{"a.js", "b.js", "c.js", "d.js", "e.js"},
			[]Result{{File: "a.js", Seconds: math.NaN()}, {File: "b.js", Seconds: -1}, {File: "b.js", Name: "2", Seconds: 2},
				{File: "c.js", Seconds: math.Inf(1)}, {File: "d.js", Seconds: 1e308}, {File: "e.js"}},
			map[string]time.Duration{"b.js": s(2), "e.js": 0}},
		{"no times at all", []string{"a.js"}, []Result{{File: "a.js"}}, map[string]time.Duration{}},
		{"more than time itself", []string{"a.js"},
			[]Result{{File: "a.js", Seconds: 600_000}, {File: "a.js", Name: "2", Seconds: 600_000}}, map[string]time.Duration{"a.js": longest}},
		{"nothing", nil, nil, map[string]time.Duration{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Import(tt.results, tt.known); !maps.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func FuzzImport(f *testing.F) {
	f.Add("a/b.js", "a.b$c", "x//y", "T/u::v", 1.5)
	f.Add("", "$", "..", "/", math.Inf(-1))
	f.Fuzz(func(t *testing.T, file, class, suite, name string, s float64) {
		for key, took := range Import([]Result{{file, class, suite, name, s}}, []string{file, class, "a/b.js", "x/y::v", "."}) {
			if took < 0 || took > longest {
				t.Errorf("%q: %s", key, took)
			}
		}
	})
}
