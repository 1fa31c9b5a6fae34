package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Seconds is how long something took, as people read it.
func Seconds(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Thousands writes a count with its groups apart: 1,284.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural is a count with its noun.
func Plural(n int, one string) string { return PluralAs(n, one, one+"s") }

// PluralAs does it for a word with a plural of its own.
func PluralAs(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// List names shards by number: "shard 2", "shards 1, 2 and 4".
func List(numbers []int) string { return ListOf("shard", numbers) }

// ListOf does it for anything that has numbers.
func ListOf(what string, numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	last := len(words) - 1
	if last == 0 {
		return what + " " + words[0]
	}
	return what + "s " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// FirstOf names the first of several, and counts the others: "a, b and 7 more".
func FirstOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
