package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"
)

// view is the page as the template takes it: every foreign text cut, and shown as what it is.
type view struct {
	Page
	Policy     string
	Style      template.CSS
	Script     template.JS
	Title      string
	Verdict    string
	Class      string
	Stamp      string // of the start, for machines
	When       string // the same for people
	Timeline   timeline
	Summary    string // of the picture, for whoever does not see it
	Children   []childView
	Failures   []caseView
	Flaky      []caseView
	Slowest    []caseView
	Files      []fileView
	Groups     []group
	Unnamed    int // tests that the list at the end leaves out
	Collected  bool
	HasUnits   bool
	Links      []link
	MergedName string
}

type childView struct {
	Child
	Class, Mark      string
	Fork, Busy, Idle string
	Attempts         int
	Units            []unitView
	LogLink          link
	Links            []link
	Images           []link
}

type unitView struct {
	Span
	Class, Mark, Name, Began, Took string
}

type caseView struct {
	ID          string
	Class, Mark string
	State       State
	Shard       int
	Name, Where string
	Suite       string
	Took        string
	Tags        []string
	Message     string
	Body        string
	Out, Err    string
	Images      []link
	Attachments []link
	LogLink     link
	Own         bool
	OpenAtFirst bool
}

type fileView struct {
	FileTime
	Took string
}

// group is the lines of the tests of one shard.
type group struct {
	Shard int
	Tests []line
}

// line is one test. The class of the many that passed is "", and a line is one text: an element more for each of ten
// thousand makes a page noticeably slower to open.
type line struct{ Class, Text string }

// openAtFirst is how many failures may lie open when the page comes up: more would bury the rest of the page.
const openAtFirst = 3

func newView(p Page) view {
	p = readable(p)
	v := view{
		Page: p, Policy: policy(), Style: template.CSS(style), Script: template.JS(script), Timeline: newTimeline(p),
	}
	v.Verdict, v.Class = verdict(p)
	v.Title = joined(" · ", v.Verdict, p.Project, nodeOf(p))
	if !p.Started.IsZero() {
		v.Stamp, v.When = p.Started.UTC().Format(time.RFC3339), p.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	texts := &budget{maxTexts}
	for i, c := range p.Failures {
		v.Failures = append(v.Failures, texts.view(c, fmt.Sprintf("failure-%d", i+1), len(p.Failures) <= openAtFirst))
	}
	for i, c := range p.Flaky {
		v.Flaky = append(v.Flaky, texts.view(c, fmt.Sprintf("flaky-%d", i+1), false))
	}
	for _, c := range p.Slowest {
		v.Slowest = append(v.Slowest, texts.view(c, "", false))
	}
	for _, f := range p.Files {
		f.Name = label(f.Name)
		v.Files = append(v.Files, fileView{f, took(f.Seconds)})
	}
	v.MergedName = label(cmp.Or(p.Merged, "the merged report"))
	v.children(p)
	v.tests(p)
	for _, name := range []string{p.Merged, p.Data} {
		if name != "" {
			v.Links = append(v.Links, linkTo(name))
		}
	}
	return v
}

// readable makes the texts visible that stand in the page as they are.
func readable(p Page) Page {
	p.Project, p.Command, p.Meaning, p.Node = label(p.Project), visible(clip(p.Command, maxText)), visible(p.Meaning), label(p.Node)
	p.Bound, p.Ledger.Line = visible(p.Bound), visible(p.Ledger.Line)
	for _, texts := range []*[]string{&p.Ledger.Notes, &p.Warnings, &p.Withheld} {
		shown := make([]string, len(*texts))
		for i, text := range *texts {
			shown[i] = visible(clip(text, maxText))
		}
		*texts = shown
	}
	return p
}

// verdict is the page's first line.
func verdict(p Page) (words, class string) {
	bad := p.Totals.Failures + p.Totals.Errors
	switch {
	case p.ExitCode == 0:
		return cmp.Or(passedWords(p.Totals), "passed"), "ok"
	case bad > 0:
		return fmt.Sprintf("%s failed of %s", thousands(bad), plural(p.Totals.Tests, "test")), "bad"
	}
	return cmp.Or(p.Meaning, fmt.Sprintf("exit code %d", p.ExitCode)), "bad"
}

func passedWords(t Totals) string {
	if t.Tests == 0 {
		return ""
	}
	return plural(t.Passed, "test") + " passed"
}

func nodeOf(p Page) string {
	if p.Node == "" {
		return ""
	}
	return "node " + p.Node
}

func (b *budget) view(c Case, id string, open bool) caseView {
	v := caseView{
		ID: id, Class: c.State.class(), Mark: c.State.mark(), State: c.State, Shard: c.Shard, Own: c.Own, OpenAtFirst: open,
		Name: label(joined(" › ", c.Class, c.Name)), Suite: label(c.Suite), Took: took(c.Seconds),
		Message: b.text(c.Message), Out: b.text(c.Out), Err: b.text(c.Err),
	}
	if c.Body != c.Message {
		v.Body = b.text(c.Body)
	}
	if c.Suite == c.Class || c.Own {
		v.Suite = ""
	}
	if c.File != "" {
		v.Where = label(c.File)
		if c.Line > 0 {
			v.Where += fmt.Sprintf(":%d", c.Line)
		}
	}
	if c.Attempt > 1 {
		v.Tags = append(v.Tags, fmt.Sprintf("attempt %d", c.Attempt))
	}
	if c.Earlier > 0 {
		v.Tags = append(v.Tags, plural(c.Earlier, "bad run")+" before")
	}
	for _, name := range c.Attachments {
		if l := linkTo(name); l.Image {
			v.Images = append(v.Images, l)
		} else {
			v.Attachments = append(v.Attachments, l)
		}
	}
	if c.Log != "" {
		v.LogLink = linkTo(c.Log)
	}
	return v
}

func (v *view) children(p Page) {
	end := ended(p)
	shown := map[string]bool{}
	for _, c := range append(append([]Case(nil), p.Failures...), p.Flaky...) {
		for _, a := range c.Attachments {
			shown[a] = true
		}
	}
	counts := map[State]int{}
	for _, c := range p.Children {
		counts[c.State]++
		child := newChildView(c, end)
		for _, f := range c.Files {
			if l := linkTo(f); l.Image && !shown[f] && len(child.Images) < maxImages {
				child.Images = append(child.Images, l)
			} else {
				child.Links = append(child.Links, l)
			}
		}
		v.Collected = v.Collected || len(c.Files) > 0
		v.HasUnits = v.HasUnits || len(child.Units) > 0
		v.Children = append(v.Children, child)
	}
	v.Summary = fmt.Sprintf("Setup %s, then %s; all took %s.", long(p.Setup), plural(len(p.Children), "shard"), long(end))
	for _, s := range []State{Passed, "failed", "timed out", "lost", Cancelled} {
		if counts[s] > 0 {
			v.Summary += fmt.Sprintf(" %d %s.", counts[s], s)
		}
	}
}

func newChildView(c Child, end time.Duration) childView {
	v := childView{Child: c, Class: c.State.class(), Mark: c.State.mark()}
	v.Name, v.Node, v.Exit = label(c.Name), label(c.Node), visible(c.Exit)
	v.Reason, v.Hint = visible(clip(c.Reason, maxText)), visible(clip(c.Hint, maxText))
	if c.Log != "" {
		v.LogLink = linkTo(c.Log)
	}
	var fork, busy, last time.Duration
	for _, s := range c.Spans {
		last = max(last, s.End)
		switch s.Kind {
		case Fork:
			fork += s.End - s.Start
		case Command:
			busy += s.End - s.Start
			v.Attempts = max(v.Attempts, s.Attempt)
		case Unit:
			v.Units = append(v.Units, unitView{s, s.State.class(), s.State.mark(), label(s.Label), long(s.Start), long(s.End - s.Start)})
		}
	}
	if last > 0 {
		v.Fork, v.Busy, v.Idle = long(fork), long(busy), long(end-last)
	}
	return v
}

// tests makes the list of all tests, by shard.
func (v *view) tests(p Page) {
	for _, c := range p.Tests {
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Shard != c.Shard {
			v.Groups = append(v.Groups, group{Shard: c.Shard})
		}
		g := &v.Groups[len(v.Groups)-1]
		name := label(joined(" › ", c.Suite, c.Class, c.Name))
		g.Tests = append(g.Tests, line{strings.TrimPrefix(c.State.class(), Passed.class()), joined(" — ", name, took(c.Seconds))})
	}
	if len(p.Tests) > 0 {
		v.Unnamed = p.Totals.Tests - len(p.Tests)
	}
}
