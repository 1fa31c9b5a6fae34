package units

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		nul        bool
		want       []string
	}{
		{"lines", "b\na\n", false, []string{"b", "a"}},
		{"no newline at the end", "a\nb", false, []string{"a", "b"}},
		{"carriage returns", "a\r\nb\r\n", false, []string{"a", "b"}},
		{"a drawn progress", "10%\r90%\rdone\n", false, []string{"10%", "90%", "done"}},
		{"byte order mark", "\ufeffa\nb\n", false, []string{"a", "b"}},
		{"only a byte order mark", "\ufeff\n", false, []string{}},
		{"blank lines and white space around", "\n  a \n\t\n \u00a0\nb\t\n", false, []string{"a", "b"}},
		{"spaces inside stay", " my tests/a b.js \n", false, []string{"my tests/a b.js"}},
		{"twice is once", "b\na\nb\n b\n", false, []string{"b", "a"}},
		{"odd names", "-x\n--y=z\n'q'\n$(id)\n*\n", false, []string{"-x", "--y=z", "'q'", "$(id)", "*"}},
		{"bytes that are no UTF-8 stay", "caf\xe9.js\n", false, []string{"caf\xe9.js"}},
		{"empty", "", false, []string{}},
		{"NUL", "b\x00a\x00", true, []string{"b", "a"}},
		{"NUL, none at the end", "b\x00a", true, []string{"b", "a"}},
		{"NUL with newlines and spaces in names", "a\nb\x00 c \x00", true, []string{"a\nb", " c "}},
		{"NUL, twice and empty", "a\x00\x00a\x00\n", true, []string{"a"}},
		{"NUL with a byte order mark", "\ufeffa\x00", true, []string{"a"}},
		{"NUL asked for and lines given", "a\nb\n", true, []string{"a\nb\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(strings.NewReader(tt.text), tt.nul)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       string
	}{
		{"NUL among lines", "a\nb\x00c\x00", "line 2 of the list has a NUL byte: read a list that has them behind its names with -0"},
		{"UTF-16, little end", "\xff\xfea\x00\n\x00", "the list is written as UTF-16: write it as UTF-8"},
		{"UTF-16, big end", "\xfe\xff\x00a\x00\n", "the list is written as UTF-16: write it as UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := Parse(strings.NewReader(tt.text), false); err == nil || err.Error() != tt.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a\r\n\ufeffb\n\n a", false)
	f.Add("a\x00b\n\x00", true)
	f.Fuzz(func(t *testing.T, text string, nul bool) {
		names, err := Parse(strings.NewReader(text), nul)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, name := range names {
			if name == "" || seen[name] || strings.Contains(name, "\x00") || !nul && strings.ContainsAny(name, "\r\n") {
				t.Fatalf("%q in %q", name, names)
			}
			seen[name] = true
		}
		again, err := Parse(strings.NewReader(strings.Join(names, "\x00")), true)
		if err != nil && !strings.HasPrefix(names[0], "\xff") && !strings.HasPrefix(names[0], "\xfe") {
			t.Fatal(err)
		}
		if err == nil && len(names) > 0 && !strings.HasPrefix(names[0], "\ufeff") && !slices.Equal(again, names) {
			t.Fatalf("%q became %q", names, again)
		}
	})
}
