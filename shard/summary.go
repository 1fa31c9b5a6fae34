package shard

import (
	"fmt"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
)

const maxShownWarnings = 20

// summary is what a run says at its end. Everything in it that a test or a command could have written is harmless.
func summary(res Result, o Options) string {
	p := &sheet{width: o.Width, colour: o.Colour}
	writeShards(p, res, o)
	writeFailures(p, res)
	writeFlaky(p, res)
	writeWarnings(p, res)
	writeEnd(p, res, o)
	return p.b.String()
}

func writeWarnings(p *sheet, res Result) {
	for i, w := range res.Warnings {
		if i == maxShownWarnings {
			p.wrapped("", fmt.Sprintf("... and %s more, all in %s", text.Plural(len(res.Warnings)-i, "warning"), resultFile), text.None)
			break
		}
		p.wrapped("", "warning: "+w, text.Yellow)
	}
	for _, n := range res.Ledger.Notes {
		p.wrapped("", "note: "+n, text.None)
	}
	for _, s := range res.Shards {
		if s.Hint != "" {
			p.wrapped("", "hint: "+s.Hint, text.None)
			break
		}
	}
}

func writeEnd(p *sheet, res Result, o Options) {
	p.wrapped("", res.Ledger.Line, verdictColour(res))
	var took []string
	if res.Setup > 0 {
		took = append(took, "setup "+text.Seconds(res.Setup))
	}
	took = append(took, "fork "+text.Seconds(res.Fork), "wall "+text.Seconds(res.Wall))
	if n := res.Ledger.Units.Listed; n > 0 && res.Efficiency.Span > 0 {
		took = append(took, fmt.Sprintf("times of %d of %s were known", res.Efficiency.Known, text.Plural(n, "unit")))
	}
	p.wrapped("", strings.Join(took, " · "), text.None)
	if res.Bound != "" {
		p.wrapped("", fmt.Sprintf("efficiency %.0f %%%s: %s", 100*efficiency(res.Shards), atBest(res.Efficiency, len(res.Shards)), res.Bound), text.None)
	}
	writePlaces(p, res, o)
	writeKept(p, res)
}

// atBest compares a run that dealt a list with what could have been.
func atBest(e Efficiency, children int) string {
	if e.Bound == 0 {
		return ""
	}
	said := fmt.Sprintf(", %s where %s is the least for %s", text.Seconds(e.Span), text.Seconds(e.Bound), text.PluralAs(children, "child", "children"))
	if e.Best > 0 && e.Best != children {
		said += fmt.Sprintf(" and %d would be quickest", e.Best)
	}
	return said
}

func verdictColour(res Result) text.Colour {
	if res.ExitCode == 0 {
		return text.Green
	}
	return text.Red
}

// writePlaces says where to look further.
func writePlaces(p *sheet, res Result, o Options) {
	where := "results in " + o.display(res.ReportDir)
	if len(res.files) > 0 {
		where += ": " + strings.Join(res.files, ", ")
	}
	p.wrapped("", where, text.None)
}

// writeKept says how to look into a child: the first that failed, else the first.
func writeKept(p *sheet, res Result) {
	if len(res.Kept) == 0 {
		return
	}
	show := res.Kept[0]
	for _, s := range res.Shards {
		if s.State != Passed && s.Child != "" {
			show = s.Child
			break
		}
	}
	remove := "boxer fork rm " + strings.Join(res.Kept, " ")
	if res.parentKept {
		remove = "boxer down"
	}
	p.wrapped("", "kept: "+strings.Join(res.Kept, " "), text.None)
	p.command("look inside: ", "boxer run --scope "+show+" -- sh")
	p.command("remove: ", remove)
}
