package text

import (
	"slices"
	"testing"
)

func TestCuts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text              string
		width             int
		cut, head, middle string
	}{
		{"short", 5, "short", "short", "short"},
		{"test/cart.test.js:12", 12, "test/cart.t…", "….test.js:12", "tes…st.js:12"},
		{"日本日本日本", 7, "日本日…", "…本日本", "…本日本"},
		{"abc", 1, "…", "…", "…"},
	} {
		for name, got := range map[string][2]string{
			"Cut":       {Cut(tt.text, tt.width), tt.cut},
			"CutHead":   {CutHead(tt.text, tt.width), tt.head},
			"CutMiddle": {CutMiddle(tt.text, tt.width), tt.middle},
		} {
			if got[0] != got[1] || Columns(got[0]) > tt.width {
				t.Errorf("%s(%q, %d): %q, want %q", name, tt.text, tt.width, got[0], got[1])
			}
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"a b", 0, []string{"a b"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"a verylongword b", 5, []string{"a", "veryl", "ongwo", "rd b"}},
		{"日本日本", 5, []string{"日本", "日本"}},
		{"日本", 1, []string{"日", "本"}},
	} {
		if got := Wrap(tt.text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, %d): %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
