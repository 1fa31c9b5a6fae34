package shard

import (
	"regexp"
	"strconv"
)

// A shell's ${i} and a template's {{i}} are not ours: what stands before the brace tells.
var (
	placeholder = regexp.MustCompile(`<(?:i|i0|n|child)>|[${]?\{(?:i|i0|n|child)\}`)
	listed      = regexp.MustCompile(`<tests(?:-file)?>|(?:^|[^${])\{tests(?:-file)?\}`)
	perShard    = regexp.MustCompile(`<(?:i|i0|child)>|(?:^|[^${])\{(?:i|i0|child)\}`)
)

// place is what the placeholders of one shard stand for.
type place struct {
	number, total int    // from 1
	child         string // its slug name
}

// expand puts the shard's values in the place of the placeholders. Anything else in angles or braces is the user's.
func (p place) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if match[0] == '$' || (match[0] == '{' && match[1] == '{') {
			return match
		}
		switch match[1 : len(match)-1] {
		case "i":
			return strconv.Itoa(p.number)
		case "i0":
			return strconv.Itoa(p.number - 1)
		case "n":
			return strconv.Itoa(p.total)
		default:
			return p.child
		}
	})
}

func (p place) expandAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = p.expand(t)
	}
	return out
}

// differs says whether the text comes out differently in every shard.
func differs(text string) bool { return perShard.MatchString(text) }
