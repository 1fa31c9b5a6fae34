package config

import "sort"

// Nearest is the name that was probably meant, or "" if none is near: at most a third of the letters differ, and at
// least one change is always forgiven.
func Nearest(word string, names []string) string {
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	best, bestAt := "", max(1, (len(word)+1)/3)+1
	for _, n := range sorted {
		if d := distance(word, n); d < bestAt {
			best, bestAt = n, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with their neighbour.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Meant ends a message about an unknown name with the nearest right one.
func Meant(word string, names []string) string {
	if n := Nearest(word, names); n != "" {
		return ", did you mean " + n + "?"
	}
	return ""
}
