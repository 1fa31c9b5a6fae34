package text

import "testing"

func TestHarmlessIsOneLine(t *testing.T) {
	t.Parallel()
	if got := Harmless("a\nb\r\nc\x1b[1m"); got != "a b  c\x1b[1m\x1b[0m" {
		t.Errorf("%q", got)
	}
}
