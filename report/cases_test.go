package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const casesDir = "testdata/junit"

// wanted is a NAME.want.json; testdata/junit/README.md explains its fields.
type wanted struct {
	Exit, Tests, Failures, Errors, Skipped, Flaky int
	Killed, Error, Synthetic                      string
	ErrorFile                                     string   `json:"error_file"`
	ErrorParts                                    []string `json:"error_has"`
	Line                                          int
	Warn                                          bool
	Shards                                        []wantedShard
	Names, Status, Suites, Classnames, Files      []string
	Hostnames                                     []string
	ShardOf                                       []string `json:"shard_of"`
	Seconds                                       map[string]float64
	FlakyRuns                                     map[string]int         `json:"flaky_runs"`
	CaseProps                                     map[string][][2]string `json:"case_props"`
	Props                                         map[string]map[string]string
	Time                                          *float64
	Expect                                        []struct {
		Name    string
		Message *string
		BodyHas []string `json:"body_has"`
		Out     *string
		Err     *string
	}
}

type wantedShard struct {
	File               string
	Shard, Of, Attempt int
	Exit               int
	Killed             string
}

// merged is the merged report as a consumer reads it.
type merged struct {
	Name string  `xml:"name,attr"`
	Time float64 `xml:"time,attr"`
	Counts
	Suites []mergedSuite `xml:"testsuite"`
}

type Counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type mergedSuite struct {
	Counts
	Name      string       `xml:"name,attr"`
	Hostname  string       `xml:"hostname,attr"`
	Timestamp string       `xml:"timestamp,attr"`
	Time      float64      `xml:"time,attr"`
	File      string       `xml:"file,attr"`
	Props     []mergedProp `xml:"properties>property"`
	Cases     []mergedCase `xml:"testcase"`
	Out       []string     `xml:"system-out"`
	Err       []string     `xml:"system-err"`
	Suites    []struct{}   `xml:"testsuite"`
}

type mergedProp struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type mergedCase struct {
	Name       *string        `xml:"name,attr"`
	Classname  *string        `xml:"classname,attr"`
	File       string         `xml:"file,attr"`
	Line       string         `xml:"line,attr"`
	Assertions string         `xml:"assertions,attr"`
	Time       float64        `xml:"time,attr"`
	Props      []mergedProp   `xml:"properties>property"`
	Failures   []mergedResult `xml:"failure"`
	Errors     []mergedResult `xml:"error"`
	Skips      []mergedResult `xml:"skipped"`
	FlakyF     []mergedResult `xml:"flakyFailure"`
	FlakyE     []mergedResult `xml:"flakyError"`
	RerunF     []mergedResult `xml:"rerunFailure"`
	RerunE     []mergedResult `xml:"rerunError"`
	Out        []string       `xml:"system-out"`
	Err        []string       `xml:"system-err"`
}

type mergedResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Body    string `xml:",chardata"`
	Stack   string `xml:"stackTrace"`
}

func (c mergedCase) status() Status {
	switch {
	case len(c.Errors) > 0:
		return Errored
	case len(c.Failures) > 0:
		return Failed
	case len(c.Skips) > 0:
		return Skipped
	case len(c.FlakyF)+len(c.FlakyE) > 0:
		return Flaky
	}
	return Passed
}

func (c mergedCase) result() mergedResult {
	return append(slices.Concat(c.Errors, c.Failures, c.Skips), mergedResult{})[0]
}

func (m merged) cases() (cases []mergedCase, suites []mergedSuite) {
	for _, s := range m.Suites {
		for _, c := range s.Cases {
			cases, suites = append(cases, c), append(suites, s)
		}
	}
	return cases, suites
}

// parseMerged reads a merged report with the strict reader of the standard library and checks what holds for all.
func parseMerged(t testing.TB, data []byte) merged {
	t.Helper()
	var m merged
	if err := xml.Unmarshal(data, &m); err != nil {
		t.Fatalf("the merged report is not XML: %v\n%s", err, data)
	}
	var sum Counts
	var seconds float64
	seen := map[[3]string]bool{}
	for _, s := range m.Suites {
		got := Counts{Tests: len(s.Cases)}
		for _, c := range s.Cases {
			if c.Name == nil || c.Classname == nil {
				t.Fatalf("a case without name or classname in suite %q", s.Name)
			}
			if len(c.Errors)+len(c.Failures)+len(c.Skips) > 1 || len(c.Out) > 1 || len(c.Err) > 1 {
				t.Errorf("case %q has two results or outputs", *c.Name)
			}
			id := [3]string{s.Name, *c.Classname, *c.Name}
			if seen[id] {
				t.Errorf("case %q was written twice", id)
			}
			seen[id] = true
			got.Failures += len(c.Failures)
			got.Errors += len(c.Errors)
			got.Skipped += len(c.Skips)
		}
		if got != s.Counts || len(s.Cases) == 0 || len(s.Suites) > 0 {
			t.Errorf("suite %q says %+v, holds %+v and %d suites", s.Name, s.Counts, got, len(s.Suites))
		}
		sum = Counts{sum.Tests + got.Tests, sum.Failures + got.Failures, sum.Errors + got.Errors, sum.Skipped + got.Skipped}
		seconds += s.Time
	}
	if sum != m.Counts || math.Abs(seconds-m.Time) > 1e-3+1e-6*float64(len(m.Suites)) {
		t.Errorf("the root says %+v and %v s, the suites %+v and %v s", m.Counts, m.Time, sum, seconds)
	}
	return m
}

// mergeBytes merges to a fresh file and gives what stands in it.
func mergeBytes(t testing.TB, o Options, attempts []Attempt) ([]byte, Result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged.xml")
	r, err := Merge(attempts, o, path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, r
}

// mergeFor merges to a fresh file and reads it back.
func mergeFor(t testing.TB, o Options, attempts ...Attempt) (merged, Result) {
	t.Helper()
	data, r := mergeBytes(t, o, attempts)
	m := parseMerged(t, data)
	if got := (Counts{r.Tests, r.Failures, r.Errors, r.Skipped}); got != m.Counts {
		t.Errorf("the result says %+v, the report %+v", got, m.Counts)
	}
	return m, r
}

func TestCases(t *testing.T) {
	wants, err := filepath.Glob(casesDir + "/*.want.json")
	if err != nil || len(wants) != 42 {
		t.Fatalf("found %d cases, want 42 (%v)", len(wants), err)
	}
	for _, path := range wants {
		name := strings.TrimSuffix(filepath.Base(path), ".want.json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := readWanted(t, path)
			m, r := mergeFor(t, Options{}, want.attempts(name)...)
			want.checkCases(t, m, r)
			want.checkMore(t, m)
			want.checkErrors(t, name, m, r)
		})
	}
}

func readWanted(t testing.TB, path string) wanted {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var w wanted
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w wanted) attempts(name string) []Attempt {
	shards := w.Shards
	if shards == nil {
		shards = []wantedShard{{File: name + ".xml", Shard: 1, Of: 1, Attempt: 1, Exit: w.Exit, Killed: w.Killed}}
	}
	var all []Attempt
	for _, s := range shards {
		a := Attempt{Shard: s.Shard, Of: s.Of, Attempt: s.Attempt, Exit: s.Exit, Killed: s.Killed, Configured: true}
		if strings.HasPrefix(s.Killed, "signal") {
			a.Killed, a.Signal = "", s.Killed
		}
		if s.File == "" {
			a.Missing = []string{"junit.xml"}
		} else {
			a.Reports = []File{{Path: filepath.Join(casesDir, s.File), Name: s.File}}
		}
		all = append(all, a)
	}
	return all
}

func (w wanted) checkCases(t *testing.T, m merged, r Result) {
	t.Helper()
	got := Totals{Tests: m.Tests, Failures: m.Failures, Errors: m.Errors, Skipped: m.Skipped, Flaky: r.Flaky}
	want := Totals{Tests: w.Tests, Failures: w.Failures, Errors: w.Errors, Skipped: w.Skipped, Flaky: w.Flaky}
	if got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	var names, status, suites, classnames, files, hostnames, shardOf []string
	cases, in := m.cases()
	for i, c := range cases {
		names, status = append(names, *c.Name), append(status, string(c.status()))
		suites, classnames = append(suites, in[i].Name), append(classnames, *c.Classname)
		files, hostnames = append(files, c.File), append(hostnames, in[i].Hostname)
		shardOf = append(shardOf, propsOf(in[i].Props)["boxer.shard"])
	}
	for _, list := range []struct {
		what      string
		got, want []string
	}{
		{"names", names, w.Names}, {"status", status, w.Status}, {"suites", suites, w.Suites}, {"files", files, w.Files},
		{"classnames", classnames, w.Classnames}, {"hostnames", hostnames, w.Hostnames}, {"shard_of", shardOf, w.ShardOf},
	} {
		if list.want != nil && !slices.Equal(list.got, list.want) {
			t.Errorf("%s %q\n want %q", list.what, list.got, list.want)
		}
	}
}

func propsOf(props []mergedProp) map[string]string {
	m := map[string]string{}
	for _, p := range props {
		m[p.Name] = p.Value
	}
	return m
}

func (w wanted) checkMore(t *testing.T, m merged) {
	t.Helper()
	if w.Time != nil && math.Abs(m.Time-*w.Time) > 1e-6 {
		t.Errorf("time %v, want %v", m.Time, *w.Time)
	}
	for suite, props := range w.Props {
		i := slices.IndexFunc(m.Suites, func(s mergedSuite) bool { return s.Name == suite })
		for name, value := range props {
			if got := propsOf(m.Suites[i].Props)[name]; got != value {
				t.Errorf("property %s of %s is %q, want %q", name, suite, got, value)
			}
		}
	}
	for name, want := range w.Seconds {
		if got := caseNamed(t, m, name).Time; math.Abs(got-want) > 1e-6 {
			t.Errorf("time of %s is %v, want %v", name, got, want)
		}
	}
	for name, want := range w.FlakyRuns {
		if c := caseNamed(t, m, name); len(c.FlakyF)+len(c.FlakyE) != want {
			t.Errorf("%s has %d flaky runs, want %d", name, len(c.FlakyF)+len(c.FlakyE), want)
		}
	}
	for name, want := range w.CaseProps {
		var got [][2]string
		for _, p := range caseNamed(t, m, name).Props {
			got = append(got, [2]string{p.Name, p.Value})
		}
		if !slices.Equal(got, want) {
			t.Errorf("properties of %s are %q, want %q", name, got, want)
		}
	}
	w.checkTexts(t, m)
}

func (w wanted) checkTexts(t *testing.T, m merged) {
	t.Helper()
	for _, e := range w.Expect {
		c := caseNamed(t, m, e.Name)
		for _, text := range []struct {
			what string
			got  string
			want *string
		}{
			{"message", c.result().Message, e.Message}, {"out", strings.Join(c.Out, "|"), e.Out}, {"err", strings.Join(c.Err, "|"), e.Err},
		} {
			if text.want != nil && text.got != *text.want {
				t.Errorf("%s of %s is %q, want %q", text.what, e.Name, text.got, *text.want)
			}
		}
		for _, part := range e.BodyHas {
			if !strings.Contains(c.result().Body, part) {
				t.Errorf("body of %s is %q, want %q in it", e.Name, c.result().Body, part)
			}
		}
	}
}

func caseNamed(t *testing.T, m merged, name string) mergedCase {
	t.Helper()
	cases, _ := m.cases()
	i := slices.IndexFunc(cases, func(c mergedCase) bool { return *c.Name == name })
	if i < 0 {
		t.Fatalf("no case %q", name)
	}
	return cases[i]
}

func (w wanted) checkErrors(t *testing.T, name string, m merged, r Result) {
	t.Helper()
	if w.Error == "" && len(r.Unread) > 0 {
		t.Errorf("reading error: %v", r.Unread[0])
	}
	if w.Error != "" && !slices.ContainsFunc(r.Unread, func(e *ReadError) bool { return w.matches(name, e) }) {
		t.Errorf("reading errors %v, want line %d, %q, %q", r.Unread, w.Line, w.Error, w.ErrorParts)
	}
	if w.Synthetic != "" && !slices.ContainsFunc(r.ErrorCases, func(e ErrorCase) bool { return strings.Contains(e.Message, w.Synthetic) }) {
		t.Errorf("error cases %+v, want %q", r.ErrorCases, w.Synthetic)
	}
	if w.Warn != (len(r.Warnings) > 0) {
		t.Errorf("warnings %q, want some: %v", r.Warnings, w.Warn)
	}
	own := 0
	for _, s := range m.Suites {
		if s.Name == "boxer" {
			own += len(s.Cases)
		}
	}
	if own != len(r.ErrorCases) {
		t.Errorf("%d error cases in the report, %d in the result", own, len(r.ErrorCases))
	}
}

func (w wanted) matches(name string, e *ReadError) bool {
	text := strings.ToLower(e.Error())
	for _, part := range append(w.ErrorParts, w.Error) {
		if !strings.Contains(text, strings.ToLower(part)) {
			return false
		}
	}
	file := name + ".xml"
	if w.ErrorFile != "" {
		file = w.ErrorFile
	}
	return w.Line == 0 || e.Line == w.Line && e.File == file
}

// rootCounts are the numbers in the first tag of a report, which may be no XML further down.
func rootCounts(t testing.TB, data []byte) (c Counts) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatalf("no root: %v\n%s", err, data)
		}
		root, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range root.Attr {
			n, _ := strconv.Atoi(a.Value)
			switch a.Name.Local {
			case "tests":
				c.Tests = n
			case "failures":
				c.Failures = n
			case "errors":
				c.Errors = n
			case "skipped":
				c.Skipped = n
			}
		}
		return c
	}
}
