package stock

import (
	"errors"
	"testing"
)

func TestShipTakesAway(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 10))
	must(t, s.Ship("apples", 4))
	holds(t, s, "apples", 6)
}

func TestShipToTheLast(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 1))
	must(t, s.Ship("apples", 1))
	holds(t, s, "apples", 0)
}

func TestShipTooManyShipsNone(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 2))
	if err := s.Ship("apples", 3); !errors.Is(err, ErrShort) {
		t.Fatalf("got %v, want %v", err, ErrShort)
	}
	holds(t, s, "apples", 2)
}
