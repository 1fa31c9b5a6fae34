package report

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// GitLab knows a test by suite, class and name, and shows one of those that share all three. So no two cases of a
// merged report may, wherever they come from: two shards, two suites of one name, two files of one class, a test that
// is named as boxer would name another.
func TestGitLabSeesEachCase(t *testing.T) {
	t.Parallel()
	one := `<testsuite name="s"><testcase classname="c" name="t"/><testcase classname="c" name="t"/><testcase classname="c" name="t [2]"/>
<testcase classname="c" name="t" file="other.js"/><testcase name="bare"/><testcase classname="s" name="bare"/></testsuite>`
	dir := t.TempDir()
	var attempts []Attempt
	for shard := 1; shard <= 3; shard++ {
		path := filepath.Join(dir, fmt.Sprintf("r%d.xml", shard))
		if err := os.WriteFile(path, []byte("<testsuites>"+one+one+"</testsuites>"), 0o600); err != nil {
			t.Fatal(err)
		}
		attempts = append(attempts, Attempt{
			Shard: shard, Of: 3, Attempt: 1, Configured: true, Reports: []File{{Path: path, Name: "r.xml"}},
		})
	}
	merged := filepath.Join(dir, "junit.xml")
	res, err := Merge(attempts, Options{}, merged)
	if err != nil || res.Tests != 36 {
		t.Fatalf("%d tests, error %v", res.Tests, err)
	}
	b, err := os.ReadFile(merged)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Classname string `xml:"classname,attr"`
				Name      string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			key := strings.Join([]string{s.Name, c.Classname, c.Name}, "\x00")
			if c.Classname == "" || seen[key] {
				t.Errorf("GitLab would lose %q", key)
			}
			seen[key] = true
		}
	}
	if len(seen) != 36 {
		t.Errorf("%d cases, want 36", len(seen))
	}
}
