package shard

import (
	"testing"
)

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	p := place{number: 3, total: 20, child: "swift-crab-f2"}
	for in, want := range map[string]string{
		"--shard=<i>/<n>":        "--shard=3/20",
		"--shard={i}/{n}":        "--shard=3/20",
		"<i0> {i0} <i><i>":       "2 2 33",
		"<child>/{child}":        "swift-crab-f2/swift-crab-f2",
		"<foo> <I> < i> <>":      "<foo> <I> < i> <>",
		"${i} ${n} $<i>":         "${i} ${n} $3",
		"{{i}} {i,n} {}":         "{{i}} {i,n} {}",
		"a{1,2}<i>":              "a{1,2}3",
		"for x in {i}; ${child}": "for x in 3; ${child}",
		"":                       "",
	} {
		if got := p.expand(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]bool{"r-<i>.xml": true, "{i0}/r.xml": true, "<child>.xml": true, "<n>.xml": false, "${i}.xml": false, "{{i}}": false, "r.xml": false, "{i}.xml": true} {
		if differs(in) != want {
			t.Errorf("differs(%q) = %v", in, !want)
		}
	}
}
