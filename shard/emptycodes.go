package shard

import "slices"

// emptyCodes are the exit codes by which the command's test runner says that it found no test: pytest's 5 and
// cargo-nextest's 4, as their manuals have them.
func emptyCodes(command []string, dir string) []int {
	words := runnerWords(command, dir)
	switch {
	case slices.Contains(words, "pytest"), slices.Contains(words, "py.test"):
		return []int{5}
	case slices.Contains(words, "nextest"):
		return []int{4}
	}
	return nil
}
