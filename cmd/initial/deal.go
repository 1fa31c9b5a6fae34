package initial

import "strings"

// deal is a script for runners that cannot split by themselves: each shard takes every n-th line of what lister
// prints. A lister that fails or prints nothing ends every shard with an error: an empty list must never mean that
// nothing, or everything, is run. A shard for which no line is left runs nothing, and so writes no report.
func deal(lister, run string) string {
	return "all=$(" + lister + ")\n" +
		`: "${all:?there are no tests}"` + "\n" +
		`mine=$(printf '%s\n' "$all" | sort | awk 'NR % <n> == <i0>')` + "\n" +
		`[ -z "$mine" ] || exec ` + run + " $mine"
}

// list finds files by their names below a folder.
func list(folder string, names ...string) string {
	terms := make([]string, len(names))
	for i, n := range names {
		terms[i] = "-name '" + n + "'"
	}
	where := "find " + folder
	if folder == "." {
		where += " -not -path '*/.*' -not -path '*/node_modules/*' -not -path '*/venv/*'"
	}
	if len(terms) == 1 {
		return where + " " + terms[0]
	}
	return where + ` \( ` + strings.Join(terms, " -o ") + ` \)`
}
