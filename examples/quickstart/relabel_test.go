package stock

import (
	"errors"
	"testing"
)

func TestRelabelSome(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 8))
	must(t, s.Relabel("apples", "cider-apples", 3))
	holds(t, s, "apples", 5)
	holds(t, s, "cider-apples", 3)
}

func TestRelabelTooMany(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 1))
	if err := s.Relabel("apples", "pears", 2); !errors.Is(err, ErrShort) {
		t.Fatalf("got %v, want %v", err, ErrShort)
	}
	holds(t, s, "apples", 1)
	holds(t, s, "pears", 0)
}

func TestRelabelThereAndBack(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 6))
	must(t, s.Relabel("apples", "pears", 6))
	must(t, s.Relabel("pears", "apples", 6))
	holds(t, s, "apples", 6)
}
