package money

import "testing"

func TestString(t *testing.T) {
	for c, want := range map[Cents]string{0: "0.00", 5: "0.05", 12345: "123.45", -250: "-2.50"} {
		if got := c.String(); got != want {
			t.Errorf("%d is written %s", int64(c), got)
		}
	}
}

func TestPart(t *testing.T) {
	for _, c := range []struct {
		of    Cents
		parts int64
		want  Cents
	}{{1000, 190, 190}, {101, 500, 51}, {0, 190, 0}} {
		if got := c.of.Part(c.parts); got != c.want {
			t.Errorf("%d/1000 of %s is %s", c.parts, c.of, got)
		}
	}
}
