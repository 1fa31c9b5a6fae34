package price

import "testing"

func TestWithTax(t *testing.T) {
	if got := WithTax(1000, 19); got != 1190 {
		t.Errorf("got %d", got)
	}
}

func TestWithTaxRoundsUp(t *testing.T) {
	if got := WithTax(1, 19); got != 2 {
		t.Errorf("got %d", got)
	}
}
