package report

import (
	"fmt"
	"testing"
)

func TestHashSet(t *testing.T) {
	var s hashSet
	known := map[uint64]bool{}
	for i := range 200_000 {
		h := hash(fmt.Sprint(i % 150_000)).short()
		if i%1000 == 0 {
			h &= 0xff << 56 // little but the part, and now and then 0
		}
		if got, want := s.add(h), !known[h]; got != want {
			t.Fatalf("number %d, hash %x: new %v, want %v", i, h, got, want)
		}
		known[h] = true
	}
	places, n := 0, 0
	for _, p := range s.parts {
		places, n = places+len(p.places), n+p.n
	}
	if n != len(known)-1 { // 0 takes no place
		t.Errorf("%d hashes, want %d", n, len(known)-1)
	}
	if each := 8 * places / n; each > 13 {
		t.Errorf("%d bytes for each hash", each)
	}
}

// Many tests of one name, in any order, each get the smallest free number.
func TestNaming(t *testing.T) {
	n := newNaming(newSuiteNames(nil), 0)
	n.begin(&suite{name: "s"})
	got := func(name string) string { return n.name(&record{Case: Case{Suite: "s", Name: name}}) }
	for i := range 30 {
		want := "a"
		if i > 0 {
			want = fmt.Sprintf("a [%d]", i+1)
		}
		if i == 10 { // was given already, as a name of its own
			want = "a [12]"
		}
		if i == 9 {
			if shown := got("a [11]"); shown != "a [11]" {
				t.Errorf("a name of its own became %s", shown)
			}
		}
		if i > 10 {
			want = fmt.Sprintf("a [%d]", i+2)
		}
		if shown := got("a"); shown != want {
			t.Errorf("number %d is %s, want %s", i, shown, want)
		}
	}
	if shown := got("a [11]"); shown != "a [11] [2]" {
		t.Errorf("a [11] again is %s", shown)
	}
}
