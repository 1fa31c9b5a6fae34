package shipping

import (
	"testing"

	"example.com/till/money"
)

func TestCost(t *testing.T) {
	for _, c := range []struct {
		name  string
		grams int
		sum   money.Cents
		want  money.Cents
	}{
		{"nothing", 0, 0, 0},
		{"light", 1, 100, 400},
		{"a kilogram", 1000, 100, 400},
		{"more than a kilogram", 1001, 100, 500},
		{"worth a lot", 9000, FreeFrom, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Cost(c.grams, c.sum); got != c.want {
				t.Error(got)
			}
		})
	}
}
