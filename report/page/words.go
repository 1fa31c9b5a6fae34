package page

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

var functions = template.FuncMap{"count": thousands, "n": func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }, "plural": plural, "took": took, "long": long, "add": func(a, b int) int { return a + b }}

// took is a test's time, of which the small ones matter too.
func took(s float64) string {
	switch {
	case s <= 0:
		return ""
	case s < 0.001:
		return "<1 ms"
	case s < 1:
		return fmt.Sprintf("%.0f ms", s*1000)
	}
	return long(time.Duration(s * float64(time.Second)))
}

// long is how long something took, as the summary of a run writes it.
func long(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// thousands writes a count with its groups apart: 1,284.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + one + "s"
}

// String is the state as the page shows it.
func (s State) String() string { return label(string(s)) }

// class is how a state is drawn.
func (s State) class() string {
	switch s {
	case Passed:
		return "ok"
	case Flaky, Cancelled:
		return "warn"
	case Skipped:
		return "skip"
	}
	return "bad"
}

// mark stands in front of a state, for whoever does not see its colour.
func (s State) mark() string {
	return map[string]string{"ok": "✓", "warn": "!", "skip": "–", "bad": "✗"}[s.class()]
}

func joined(sep string, parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" && (len(some) == 0 || some[len(some)-1] != p) {
			some = append(some, p)
		}
	}
	return strings.Join(some, sep)
}
