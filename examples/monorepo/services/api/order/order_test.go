package order

import "testing"

func TestNumber(t *testing.T) {
	if got := Number(2026, 41); got != "2026-00041" {
		t.Errorf("got %s", got)
	}
}
