package stock

import "testing"

func TestItemsOfNothing(t *testing.T) {
	s := empty(t)
	holds(t, s, "apples", 0)
	counts(t, s, 0)
}

func TestItemsCountsSoldOutOnes(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 1))
	must(t, s.Receive("pears", 1))
	must(t, s.Ship("pears", 1))
	holds(t, s, "apples", 1)
	counts(t, s, 2)
}

func TestClearForgets(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 1))
	must(t, s.Clear())
	holds(t, s, "apples", 0)
	counts(t, s, 0)
}
