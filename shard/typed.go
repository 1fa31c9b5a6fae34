package shard

import "strings"

// typed is a command as one would type it into a shell.
func typed(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"`$&|;()<>*?[]#~!\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
