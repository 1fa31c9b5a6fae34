package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/joshdk/go-junit"
)

// mergeHostile merges bytes that nobody wrote on purpose, and checks what must hold for any bytes.
func mergeHostile(t testing.TB, path string, data []byte, exit int) Result {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	merged := path + ".merged"
	r, err := Merge([]Attempt{{
		Shard: 1, Of: 1, Attempt: 1, Exit: exit, Configured: true, Reports: []File{{Path: path, Name: "r.xml"}},
	}}, Options{given: 1}, merged)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(merged)
	if err != nil {
		t.Fatal(err)
	}
	m := parseMerged(t, written)
	if got := (Counts{r.Tests, r.Failures, r.Errors, r.Skipped}); got != m.Counts {
		t.Errorf("the result says %+v, the report %+v", got, m.Counts)
	}
	if exit != 0 && r.Bad() == 0 {
		t.Error("exit code 1 became a report without a bad case")
	}
	if len(r.Unread) > 0 && (len(r.ErrorCases) != 1 || !r.Incomplete) {
		t.Errorf("%v, but no error case", r.Unread[0])
	}
	if exit != 0 {
		checkNoneLost(t, r, data)
	}
	return r
}

// checkNoneLost asks go-junit: what it counts as bad is bad in the merged report, or the report was refused.
func checkNoneLost(t testing.TB, r Result, data []byte) {
	t.Helper()
	suites, err := junit.Ingest(data)
	if err != nil || len(r.ErrorCases) > 0 && r.ErrorCases[0].Kind != CommandFailed {
		return
	}
	bad := 0
	for _, s := range suites {
		bad += s.Totals.Failed + s.Totals.Error
	}
	if r.Bad() < bad {
		t.Errorf("go-junit sees %d bad cases, the merged report has %d", bad, r.Bad())
	}
}

func caseFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(casesDir + "/*.xml")
	if err != nil || len(paths) < 42 {
		t.Fatalf("%d reports, %v", len(paths), err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Any cut of a report inside of its last root is an error case, with any exit code.
func TestRandomCuts(t *testing.T) {
	for name, data := range caseFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, uint64(len(data))))
			path := filepath.Join(t.TempDir(), "r.xml")
			last := bytes.LastIndexByte(data, '>')
			if bytes.HasPrefix(data, []byte("\xff\xfe")) {
				last-- // it is cut between the two bytes of a character too
			}
			for range 8 {
				cut := random.IntN(max(last, 1))
				r := mergeHostile(t, path, data[:cut], random.IntN(2))
				whole := name == "two-roots.xml" || name == "log-lines-around.xml" // its first root can be whole, its log lines are text
				if len(r.ErrorCases) == 0 && !whole {
					t.Errorf("cut at %d: no error case", cut)
				}
			}
		})
	}
}

func TestRandomChanges(t *testing.T) {
	for name, data := range caseFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(11, uint64(len(data))))
			path := filepath.Join(t.TempDir(), "r.xml")
			for range 12 {
				changed := change(random, data)
				mergeHostile(t, path, changed, random.IntN(2))
				if t.Failed() {
					t.Fatalf("report:\n%q", changed)
				}
			}
		})
	}
}

// change makes one to four small changes of the kinds that break formats.
func change(random *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	words := []string{"<", ">", "&", "\"", "]]>", "\x00", "\xff", "&#0;", "<failure/>", "</testcase>", "<testcase>", "<!--", " name='x'", "\x1b["}
	for range 1 + random.IntN(4) {
		at, to := random.IntN(len(out)+1), random.IntN(len(out)+1)
		at, to = min(at, to), max(at, to)
		switch random.IntN(4) {
		case 0:
			if at < len(out) {
				out[at] ^= 1 << random.IntN(8)
			}
		case 1:
			out = bytes.Join([][]byte{out[:at], []byte(words[random.IntN(len(words))]), out[at:]}, nil)
		case 2:
			to = min(to, at+20)
			out = bytes.Join([][]byte{out[:at], out[to:]}, nil)
		case 3:
			to = min(to, at+200)
			out = bytes.Join([][]byte{out[:to], out[at:]}, nil)
		}
	}
	return out
}

func FuzzMerge(f *testing.F) {
	for _, data := range caseFiles(f) {
		f.Add(data, 0)
		f.Add(data, 1)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		mergeHostile(t, filepath.Join(dir, fmt.Sprint(os.Getpid(), ".xml")), data, exit)
	})
}

func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"1,234.5", "1.234,5", "2,25", "00:01:02.5", "250ms", "1e30", "NaN", "-0", "1,2,3", "0x1p3", "1:2:"} {
		f.Add(text)
	}
	for _, w := range caseFiles(f) {
		for _, part := range bytes.Split(w, []byte(`time="`))[1:] {
			text, _, _ := bytes.Cut(part, []byte(`"`))
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := seconds(text)
		if !(n >= 0 && n <= maxSeconds) || !ok && n != 0 {
			t.Errorf("%q gives %v, %v", text, n, ok)
		}
		if again, _ := seconds(formatSeconds(n)); again-n > 1e-6 || n-again > 1e-6 {
			t.Errorf("%q gives %v, written and read it gives %v", text, n, again)
		}
	})
}
