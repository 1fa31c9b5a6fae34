package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mention finds what a report says lies in a file: the Jenkins attachment mark, and a path of an image.
var mention = regexp.MustCompile(`\[\[ATTACHMENT\|([^\]\n]+)\]\]|[\w@%+./\\-]+\.(?:png|jpe?g|gif|webp|svg|bmp)\b`)

// attachments makes the mentions in one attempt's report right as seen from the merged report.
type attachments struct {
	find func(string) string
	lost map[string]bool // mentioned by a mark, but not collected
	met  []string        // of the case being rewritten: those that were found
}

func newAttachments(find func(string) string) *attachments {
	return &attachments{find: find, lost: map[string]bool{}}
}

func (a *attachments) warnings() []string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(a.lost)) {
		all = append(all, "attachment not collected: "+path)
	}
	return all
}

func (a *attachments) rewrite(s *suite) {
	if a.find == nil {
		return
	}
	a.texts(&s.out, &s.err)
	a.values(s.props)
	for i := range s.cases {
		c := &s.cases[i]
		a.met = nil
		a.texts(&c.out, &c.err, &c.Body)
		a.values(c.props)
		for j := range c.runs {
			r := &c.runs[j]
			a.texts(&r.out, &r.err, &r.body)
		}
		c.attached = a.met
	}
}

func (a *attachments) values(props []property) {
	for i := range props {
		a.texts(&props[i].value)
	}
}

func (a *attachments) texts(texts ...*string) {
	for _, text := range texts {
		if strings.Contains(*text, ".") || strings.Contains(*text, "[[") {
			*text = mention.ReplaceAllStringFunc(*text, a.replace)
		}
	}
}

func (a *attachments) replace(text string) string {
	path, marked := strings.CutPrefix(text, "[[ATTACHMENT|")
	path = strings.TrimSuffix(path, "]]")
	found := a.find(path)
	if found != "" {
		a.met = attachedTogether(a.met, []string{found})
	}
	switch {
	case found != "" && marked:
		return "[[ATTACHMENT|" + found + "]]"
	case found != "":
		return found
	case marked && len(a.lost) < maxWarnings:
		a.lost[path] = true
	}
	return text
}

// attachedTogether joins what two runs of a case mention, each file once and no more than are worth showing.
func attachedTogether(one, other []string) []string {
	for _, name := range other {
		if len(one) < maxListedFiles && !slices.Contains(one, name) {
			one = append(one, name)
		}
	}
	return one
}
