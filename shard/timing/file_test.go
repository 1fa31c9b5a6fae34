package timing

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/boxer-ci/boxer/shard/units"
)

var day = time.Date(2026, 3, 4, 9, 10, 11, 12, time.UTC)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "timings.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func expected(t *testing.T, path string, keys ...string) Expectation {
	t.Helper()
	b, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return b.Expect(list(keys...))
}

func list(keys ...string) []units.Unit {
	var all []units.Unit
	for _, key := range keys {
		all = append(all, units.Unit{Name: key, Key: key})
	}
	return all
}

func TestSaveWritesAStableFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "timings.json")
	measured := map[string]time.Duration{"b.js": 1500 * time.Millisecond, "a <&>\".js": 20 * time.Microsecond, "c.js": time.Hour}
	if err := Save(path, measured, day); err != nil {
		t.Fatal(err)
	}
	const want = `{"schema":1,"units":{
"a \u003c\u0026\u003e\".js":{"runs":[0],"last":"2026-03-04T09:10:11Z"},
"b.js":{"runs":[1.5],"last":"2026-03-04T09:10:11Z"},
"c.js":{"runs":[3600],"last":"2026-03-04T09:10:11Z"}
}}
`
	if got := content(t, path); got != want {
		t.Errorf("got:\n%s", got)
	}
	e := expected(t, path, "a <&>\".js", "b.js", "c.js")
	if e.Of["a <&>\".js"] != least || e.Of["b.js"] != 1500*time.Millisecond || e.Of["c.js"] != time.Hour || e.Matched != 3 {
		t.Errorf("got %+v", e)
	}
}

func TestSavePartOfTheUnits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "timings.json")
	for i := range 7 {
		if err := Save(path, map[string]time.Duration{"a": time.Duration(i+1) * time.Second, "b": time.Second}, day.AddDate(0, 0, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Save(path, map[string]time.Duration{"a": 90 * time.Second, "c": time.Second}, day); err != nil {
		t.Fatal(err)
	}
	// Five runs of a, an earlier end that does not turn its clock back, and all of b.
	const want = `{"schema":1,"units":{
"a":{"runs":[4,5,6,7,90],"last":"2026-03-10T09:10:11Z"},
"b":{"runs":[1,1,1,1,1],"last":"2026-03-10T09:10:11Z"},
"c":{"runs":[1],"last":"2026-03-04T09:10:11Z"}
}}
`
	if got := content(t, path); got != want {
		t.Errorf("got:\n%s", got)
	}
	if got := expected(t, path, "a").Of["a"]; got != 6*time.Second {
		t.Errorf("the median is %s", got)
	}
}

func TestSaveNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "timings.json")
	if err := Save(path, nil, day); err != nil {
		t.Fatal(err)
	}
	if e := expected(t, path, "a"); e.Matched != 0 || len(e.Warnings) != 0 {
		t.Errorf("got %+v", e)
	}
}

func TestSenselessValues(t *testing.T) {
	t.Parallel()
	path := write(t, `{"schema":1,"more":[1],"units":{
		"zero":{"runs":[0,0,0]}, "negative":{"runs":[-1]}, "huge":{"runs":[1e308, 2]}, "none":{"runs":[]}, "null":null,
		"many":{"runs":[9,9,9,9,9,9,1,1,1,1,1], "last":"2026-01-01T00:00:00Z", "more":true}, "":{"runs":[3]}}}`)
	e := expected(t, path, "zero", "negative", "huge", "none", "null", "many", "")
	for key, want := range map[string]time.Duration{
		"zero": least, "huge": 2 * time.Second, "many": time.Second, "": 3 * time.Second,
		"negative": 1500 * time.Millisecond, "none": 1500 * time.Millisecond, "null": 1500 * time.Millisecond,
	} {
		if e.Of[key] != want {
			t.Errorf("%q: %s, want %s", key, e.Of[key], want)
		}
	}
	if e.Matched != 4 || e.Total != 7 || e.Known["negative"] || !e.Known["zero"] {
		t.Errorf("got %+v", e)
	}
	err := Save(path, map[string]time.Duration{"zero": -time.Second, "huge": math.MaxInt64, "new": math.MinInt64, "many": 0}, day)
	if err != nil {
		t.Fatal(err)
	}
	text := content(t, path)
	for _, want := range []string{`"zero":{"runs":[0,0,0]}`, `"huge":{"runs":[2]}`, `"many":{"runs":[1,1,1,1,0],`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "new") {
		t.Errorf("got:\n%s", text)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {"", "line 1: unexpected end of JSON input"},
		"cut":             {`{"schema":1,"units":{"a":{"runs":[1`, "line 1: unexpected end of JSON input"},
		"NaN":             {`{"schema":1,"units":{"a":{"runs":[NaN]}}}`, "line 1: invalid character 'N'"},
		"another file":    {`{"a.js": 1.5}`, `it has no "schema":1`},
		"words for times": {"{\"schema\":1,\n\"units\":{\"a\":{\"runs\":[\"1s\"]}}}", `line 2: "units.runs" cannot be a string`},
		"too large":       {strings.Repeat(" ", maxFile+1), "it has more than 64 MiB"},
		"HTML":            {"<html>", "line 1: invalid character '<'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.text)
			b, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), path+" is broken: "+tt.want) || !strings.Contains(err.Error(), "set aside as "+path+".broken") {
				t.Fatalf("got %v", err)
			}
			if e := b.Expect(list("a")); e.Of["a"] != unmeasured || e.Known["a"] || len(e.Warnings) != 0 {
				t.Errorf("got %+v", e)
			}
			if err := Save(path, map[string]time.Duration{"a": time.Minute}, day); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path+".broken"); got != tt.text {
				t.Errorf("aside: %.100q", got)
			}
			if got := expected(t, path, "a").Of["a"]; got != time.Minute {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestLeftAlone(t *testing.T) {
	t.Parallel()
	const newer = `{"schema":2,"units":{}}`
	folder := filepath.Join(t.TempDir(), "timings.json")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a newer boxer's": write(t, newer), "a folder": folder} {
		b, err := Load(path)
		if err == nil || len(b.units) != 0 {
			t.Errorf("%s: got %v, %v", name, b, err)
		}
		if err := Save(path, map[string]time.Duration{"a": time.Second}, day); err == nil {
			t.Errorf("%s: saved", name)
		}
		if _, err := os.Stat(path + ".broken"); err == nil {
			t.Errorf("%s: set aside", name)
		}
	}
}

func TestSaveThroughALink(t *testing.T) {
	t.Parallel()
	path := write(t, `{"schema":1,"units":{"a":{"runs":[1]}}}`)
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Save(link, map[string]time.Duration{"b": time.Second}, day); err != nil {
		t.Fatal(err)
	}
	if got := expected(t, path, "a", "b").Matched; got != 2 {
		t.Errorf("%d units behind the link", got)
	}
}

// Several processes, each of which saves its own units, several goroutines in each.
func TestSaveAtOnce(t *testing.T) {
	const processes, goroutines, times = 3, 2, 8
	if path := os.Getenv("TIMING_TEST_FILE"); path != "" {
		var group sync.WaitGroup
		for g := range goroutines {
			group.Go(func() {
				for i := range times {
					key := fmt.Sprintf("%s-%d-%d", os.Getenv("TIMING_TEST_NAME"), g, i)
					if err := Save(path, map[string]time.Duration{key: time.Second, "all": time.Second}, day); err != nil {
						t.Error(err)
					}
					if _, err := Load(path); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		return
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "timings.json")
	var group sync.WaitGroup
	for p := range processes {
		group.Go(func() {
			c := exec.Command(os.Args[0], "-test.run", "^TestSaveAtOnce$")
			c.Env = append(os.Environ(), "TIMING_TEST_FILE="+path, "TIMING_TEST_NAME="+strconv.Itoa(p))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	b, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(b.units), processes*goroutines*times+1; got != want {
		t.Errorf("%d units, want %d", got, want)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func TestLockGivesUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := lock(path, patience)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path, 0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	unlock()
	unlock, err = lock(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
