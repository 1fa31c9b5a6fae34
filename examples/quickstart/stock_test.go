package stock

import (
	"testing"
	"time"
)

// empty opens the stock and clears it, as every test here does first. On a
// server shared by two shards, one would clear what the other just received.
func empty(t *testing.T) *Stock {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	must(t, s.Clear())
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks the item's number, and that it stays so for a quarter of a
// second: long enough for another shard to get in between, if it could.
func holds(t *testing.T, s *Stock, item string, want int) {
	t.Helper()
	for range 10 {
		got, err := s.OnHand(item)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("%d %s on hand, want %d", got, item, want)
		}
		time.Sleep(25 * time.Millisecond)
	}
}

func counts(t *testing.T, s *Stock, want int) {
	t.Helper()
	got, err := s.Items()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%d items, want %d", got, want)
	}
}
