package shard

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/boxer-ci/boxer/shard/units"
)

// A shell's ${i} and a template's {{i}} are not ours: what stands before the brace tells.
var (
	placeholder = regexp.MustCompile(`<(?:i|i0|n|child)>|[${]?\{(?:i|i0|n|child)\}`)
	listed      = regexp.MustCompile(`<tests(?:-file)?>|(?:^|[^${])\{tests(?:-file)?\}`)
	listedFile  = regexp.MustCompile(`<tests-file>|[${]?\{tests-file\}`)
	listedUnits = regexp.MustCompile(`<tests>|[${]?\{tests\}`)
	perShard    = regexp.MustCompile(`<(?:i|i0|child)>|(?:^|[^${])\{(?:i|i0|child)\}`)
	index       = regexp.MustCompile(`<(?:i|i0)>|(?:^|[^${])\{(?:i|i0)\}`)
)

// place is what the placeholders of one shard stand for.
type place struct {
	number, total int    // from 1
	child         string // its slug name
}

// expand puts the shard's values in the place of the placeholders. Anything else in angles or braces is the user's.
func (p place) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if foreign(match) {
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

func foreign(match string) bool { return match[0] == '$' || (match[0] == '{' && match[1] == '{') }

func (p place) expandAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = p.expand(t)
	}
	return out
}

// differs says whether the text comes out differently in every shard.
func differs(text string) bool { return perShard.MatchString(text) }

// withUnits puts the units of a batch into a command: as words where one word is <tests>, quoted for a shell where it
// stands within a word, as the name of a file that holds them for <tests-file>, and as the last words where the command
// names neither.
func withUnits(command []string, batch []units.Unit, file string) []string {
	names := make([]string, len(batch))
	for i, u := range batch {
		names[i] = units.Safe(u.Name)
	}
	if !slices.ContainsFunc(command, listed.MatchString) {
		return slices.Concat(command, names)
	}
	var out []string
	for _, word := range command {
		if word == "<tests>" || word == "{tests}" {
			out = append(out, names...)
			continue
		}
		out = append(out, substitute(listedFile, substitute(listedUnits, word, typed(names)), file))
	}
	return out
}

func substitute(what *regexp.Regexp, word, value string) string {
	return what.ReplaceAllStringFunc(word, func(match string) string {
		if foreign(match) {
			return match
		}
		return value
	})
}

// wantsFile says whether the command takes its units from a file.
func wantsFile(command []string) bool {
	return slices.ContainsFunc(command, func(w string) bool {
		return slices.ContainsFunc(listedFile.FindAllString(w, -1), func(m string) bool { return !foreign(m) })
	})
}

// fit cuts a batch into pieces that the command can take; size is how many bytes its environment has.
func fit(command []string, size int, batch []units.Unit) [][]units.Unit {
	if wantsFile(command) {
		return [][]units.Unit{batch}
	}
	for _, word := range command {
		size += len(word) + 9
		if word != "<tests>" && word != "{tests}" && listedUnits.MatchString(word) {
			return units.FitWord(batch, len(word))
		}
	}
	return units.Fit(batch, size)
}
