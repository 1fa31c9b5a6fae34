package config

import (
	"sort"
	"strings"
)

// Mask is printed in place of a secret.
const Mask = "***"

// minSecret is the length from which a value is replaced: shorter ones occur in ordinary text, and replacing them
// would tell more than it hides.
const minSecret = 6

// Sensitive tells by its name whether a variable's value must not be printed.
func Sensitive(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "KEY"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	return false
}

// Secrets are the values that must not be printed, the longest first, so that one that contains another goes whole.
// A value of several lines counts line by line too, since logs are read by lines.
func Secrets(env []string) []string {
	seen := map[string]bool{}
	var out []string
	add := func(s string) {
		if s = strings.TrimRight(s, "\r"); len(s) >= minSecret && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for _, e := range env {
		name, value := cut(e)
		if !Sensitive(name) {
			continue
		}
		add(value)
		for _, line := range strings.Split(value, "\n") {
			add(line)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if len(out[i]) != len(out[j]) {
			return len(out[i]) > len(out[j])
		}
		return out[i] < out[j]
	})
	return out
}

// Masker replaces secrets in text.
type Masker struct{ replacer *strings.Replacer }

// NewMasker masks the secrets of the environments: the caller's, and what was given on top of it.
func NewMasker(env ...string) Masker {
	var pairs []string
	for _, s := range Secrets(env) {
		pairs = append(pairs, s, Mask)
	}
	return Masker{strings.NewReplacer(pairs...)}
}

// Mask returns s without secrets. The zero Masker returns s.
func (m Masker) Mask(s string) string {
	if m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}
