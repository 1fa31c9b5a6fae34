package tax

import "testing"

func TestKinds(t *testing.T) {
	if got := On("food", 1000); got != 70 {
		t.Error(got)
	}
	if got := On("other", 1000); got != 190 {
		t.Error(got)
	}
}

func TestUnknownKind(t *testing.T) {
	if got := On("rocket", 1000); got != 190 {
		t.Error(got)
	}
}
