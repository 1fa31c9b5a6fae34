package coupon

import (
	"errors"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	os.Remove(File)
	code := m.Run()
	os.Remove(File)
	os.Exit(code)
}

func TestTenthOff(t *testing.T) {
	if got, err := Redeem("SPRING", 1000); got != 900 || err != nil {
		t.Error(got, err)
	}
}

func TestOnlyOnce(t *testing.T) {
	if _, err := Redeem("SUMMER", 1000); err != nil {
		t.Error(err)
	}
	if got, err := Redeem("SUMMER", 1000); got != 1000 || !errors.Is(err, ErrUsed) {
		t.Error(got, err)
	}
}
