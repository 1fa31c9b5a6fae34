package receipt

import (
	"strings"
	"testing"

	"example.com/till/money"
)

func TestLine(t *testing.T) {
	if got := Line("pen", 150); got != "pen                 1.50" {
		t.Errorf("%q", got)
	}
}

func TestLongNameIsCut(t *testing.T) {
	if got := Line(strings.Repeat("x", 99), 150); len(got) != Width || !strings.HasSuffix(got, "x 1.50") {
		t.Errorf("%q", got)
	}
}

func TestSum(t *testing.T) {
	got := Receipt([]string{"pen", "ink"}, []money.Cents{150, 999})
	if !strings.HasSuffix(got, "sum                11.49") || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}
