package shard

import (
	"fmt"
	"slices"
	"testing"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"./a.xml": "a.xml", ".//a": "a", "r/": "r/**/*.xml", "a/b.xml": "a/b.xml"} {
		if got := tidy(in); got != want {
			t.Errorf("tidy(%q) = %q", in, got)
		}
	}
	files := []string{"r/a.xml", "r/b.html", "r/c.junit"}
	for pattern, want := range map[string]string{"r/**": "[r/a.xml]", "r/*": "[r/a.xml]", "r/*.*": "[r/a.xml r/b.html r/c.junit]"} {
		if got := fmt.Sprint(reportsAmong(files, []string{pattern})); got != want {
			t.Errorf("reports of %s: %s", pattern, got)
		}
	}
	if got := fmt.Sprint(reportsAmong(files, []string{"r/**", "r/c.junit"})); got != "[r/a.xml r/c.junit]" {
		t.Error(got)
	}
	for _, tt := range []struct{ patterns, found, want []string }{
		{[]string{"a.xml"}, nil, []string{"a.xml"}},
		{[]string{"a.xml", "r/*.xml"}, []string{"r/b.xml"}, []string{"a.xml"}},
		{[]string{"s/*.xml", "r/*.xml"}, []string{"r/b.xml"}, nil},
		{[]string{"s/*.xml", "a.xml"}, []string{"a.xml"}, nil},
		{[]string{"s/*.xml", "a.xml"}, nil, []string{"s/*.xml", "a.xml"}},
	} {
		if got := missing(tt.patterns, tt.found); !slices.Equal(got, tt.want) {
			t.Errorf("missing(%q, %q) = %q", tt.patterns, tt.found, got)
		}
	}
	for pattern, want := range map[string]bool{"**/r.xml": true, "*/r.xml": true, "boxer-report/x.xml": true, "boxer*/x": true, "r/*.xml": false, "r.xml": false} {
		if reaches(pattern, "boxer-report/") != want {
			t.Errorf("reaches(%q) = %v", pattern, !want)
		}
	}
	if got := usual("/w", "/w/a[b]")[len(usualPlaces)]; got != `a\[b\]/junit*.xml` {
		t.Error(got)
	}
}
