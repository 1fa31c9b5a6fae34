package units

import (
	"errors"
	"fmt"
	"runtime"
)

// What the kernel takes when it starts a program. Each word counts with the NUL byte behind it, and with the pointer
// to it. The reserve is what it puts there itself.
const (
	wordLimit = 128 << 10
	pointer   = 8
	reserve   = 4 << 10
)

// most is how many bytes the words and the environment of one program may have.
func most() int {
	if runtime.GOOS == "darwin" {
		return 1 << 20
	}
	return 2 << 20
}

// Check gives an error for each unit whose name is longer than one word of a command may be.
func Check(units []Unit) error {
	var errs []error
	for _, u := range units {
		if size := len(Safe(u.Name)); size >= wordLimit {
			errs = append(errs, fmt.Errorf("a name in the list has %d bytes, a word of a command has at most %d: %.60q...",
				size, wordLimit-1, u.Name))
		}
	}
	return errors.Join(errs...)
}

// Fit cuts a batch into pieces that one command can take as words; fixed is how many bytes the command itself and its
// environment have. Each piece has at least one unit, so a piece can be too large only by fixed or by what Check
// refuses.
func Fit(units []Unit, fixed int) [][]Unit {
	return cut(units, most()-reserve-fixed)
}

// FitWord does it for names that all stand in one word, as in the line of a shell; fixed is how many bytes the word has
// besides them. What a name needs for quotes and blanks is counted as what a word of its own would need.
func FitWord(units []Unit, fixed int) [][]Unit {
	return cut(units, wordLimit-reserve-fixed)
}

func cut(units []Unit, room int) [][]Unit {
	var pieces [][]Unit
	start, used := 0, 0
	for i, u := range units {
		size := len(Safe(u.Name)) + 1 + pointer
		if i > start && used+size > room {
			pieces = append(pieces, units[start:i:i])
			start, used = i, 0
		}
		used += size
	}
	if start < len(units) {
		pieces = append(pieces, units[start:])
	}
	return pieces
}
