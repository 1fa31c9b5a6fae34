package basket

import "testing"

func TestEmpty(t *testing.T) {
	var b Basket
	b.Remove("pen")
	if b.Sum() != 0 {
		t.Error(b.Sum())
	}
}

func TestSum(t *testing.T) {
	var b Basket
	b.Add("pen", 2, 150)
	b.Add("ink", 1, 999)
	b.Add("pen", 1, 150)
	if b.Sum() != 1449 {
		t.Error(b.Sum())
	}
}

func TestRemove(t *testing.T) {
	var b Basket
	b.Add("pen", 2, 150)
	b.Add("ink", 1, 999)
	b.Remove("pen")
	if b.Sum() != 999 {
		t.Error(b.Sum())
	}
}
