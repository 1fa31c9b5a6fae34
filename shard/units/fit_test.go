package units

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func many(n, length int) []Unit {
	all := make([]Unit, n)
	for i := range all {
		name := fmt.Sprintf("%0*d", length, i)
		all[i] = Unit{Name: name, Key: name}
	}
	return all
}

func TestFit(t *testing.T) {
	t.Parallel()
	perCommand := most() / 100_100
	for _, tt := range []struct {
		name   string
		units  []Unit
		fixed  int
		pieces int
	}{
		{"none", nil, 0, 0},
		{"few", many(3, 10), 1000, 1},
		{"more than one command takes", many(100, 100_000), 1000, (100 + perCommand - 1) / perCommand},
		{"a large environment", many(10, 100_000), most() - 250_000, 5},
		{"no room at all: one each", many(3, 10), 3 << 20, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pieces := Fit(tt.units, tt.fixed)
			if len(pieces) != tt.pieces {
				t.Errorf("%d pieces, want %d", len(pieces), tt.pieces)
			}
			at := 0
			for _, p := range pieces {
				size := tt.fixed
				for _, u := range p {
					if u != tt.units[at] {
						t.Fatalf("unit %d is %v", at, u)
					}
					at, size = at+1, size+len(u.Name)+1
				}
				if size > most() && len(p) > 1 {
					t.Errorf("a piece of %d bytes", size)
				}
			}
			if at != len(tt.units) {
				t.Errorf("%d of %d units", at, len(tt.units))
			}
		})
	}
}

// The kernel itself is asked, since its limit depends on that of the stack.
func TestFitStarts(t *testing.T) {
	t.Parallel()
	names := many(40_000, 60)
	names[0].Name = "-" + strings.Repeat("x", wordLimit-4)
	if err := Check(names); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	fixed := len(program) + 1
	for _, e := range os.Environ() {
		fixed += len(e) + 1 + pointer
	}
	for _, piece := range Fit(names, fixed) {
		var words []string
		for _, u := range piece {
			words = append(words, Safe(u.Name))
		}
		if err := exec.Command(program, words...).Run(); err != nil {
			t.Fatalf("%d units: %v", len(piece), err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("x", wordLimit-1)
	if err := Check([]Unit{{Name: fits}, {Name: "a"}}); err != nil {
		t.Error(err)
	}
	err := Check([]Unit{{Name: fits + "y"}, {Name: "a"}, {Name: "-" + fits[2:]}})
	if err == nil || strings.Count(err.Error(), "\n") != 1 || len(err.Error()) > 400 {
		t.Errorf("got %v", err)
	}
}
