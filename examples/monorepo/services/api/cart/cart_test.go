package cart

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(map[string]int{"pen": 2, "ink": 1}); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestTotalOfNothing(t *testing.T) {
	if got := Total(nil); got != 0 {
		t.Errorf("got %d", got)
	}
}
