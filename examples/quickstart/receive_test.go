package stock

import "testing"

func TestReceiveNewItem(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 5))
	holds(t, s, "apples", 5)
}

func TestReceiveAddsUp(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("apples", 3))
	must(t, s.Receive("apples", 4))
	holds(t, s, "apples", 7)
}

func TestReceiveLeavesOthersAlone(t *testing.T) {
	s := empty(t)
	must(t, s.Receive("pears", 2))
	must(t, s.Receive("apples", 9))
	holds(t, s, "pears", 2)
}
