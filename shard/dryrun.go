package shard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard/plan"
)

// Plan is what a run would do on this node, as far as it is known before.
type Plan struct {
	Static   bool // false: a guess, since each child takes what comes next when it is free
	Listed   bool // false: the command splits the tests by itself, and nothing but it is known
	Units    int
	Known    int           // units with times of earlier runs
	Expect   time.Duration // of the longest shard
	Bound    time.Duration // no way to deal the same units to as many children is quicker
	Shards   []PlannedShard
	Warnings []string
}

// PlannedShard is one shard of a plan.
type PlannedShard struct {
	Number, Of int
	Command    []string // without a list
	Jobs       []plan.Job
	Expect     time.Duration
}

// DryRun makes the plan of a run and runs nothing but the lister, for which the session is; without one it may be nil.
func DryRun(ctx context.Context, s runner.Session, o Options) (Plan, error) {
	o = o.filled()
	if err := o.Validate(); err != nil {
		return Plan{}, err
	}
	d, warnings, err := o.open(ctx, s)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Warnings: warnings}
	if d == nil {
		for k := range o.Count {
			at := place{number: o.number(k), total: o.total(), child: o.Scope.Slug + "-f*"}
			p.Shards = append(p.Shards, PlannedShard{Number: at.number, Of: at.total, Command: at.expandAll(o.Command)})
		}
		return p, nil
	}
	p.Listed, p.Static, p.Units = true, o.Tests.Static, len(d.mine)
	piles := d.piles
	if !p.Static {
		piles = plan.Static(d.mine, max(d.children(o.Count), 1))
	}
	var all []time.Duration
	for k, jobs := range piles {
		if len(jobs) == 0 {
			continue
		}
		s := PlannedShard{Number: o.number(k), Of: o.total(), Jobs: jobs}
		for _, j := range jobs {
			s.Expect += j.Expect
			all = append(all, j.Expect)
			if j.Known {
				p.Known++
			}
		}
		p.Expect = max(p.Expect, s.Expect)
		p.Shards = append(p.Shards, s)
	}
	p.Bound = plan.Bound(all, max(len(p.Shards), 1))
	return p, nil
}

// Lines are the plan for people.
func (p Plan) Lines() []string {
	var lines []string
	if p.Listed {
		how := "each child takes what comes next; this is how it is likely to go"
		if p.Static {
			how = "dealt before the start"
		}
		lines = append(lines, fmt.Sprintf("%s, %d with known times, for %s: %s",
			text.Plural(p.Units, "unit"), p.Known, text.PluralAs(len(p.Shards), "child", "children"), how))
	}
	for _, s := range p.Shards {
		head := fmt.Sprintf("[%d/%d] ", s.Number, s.Of)
		if !p.Listed {
			lines = append(lines, head+typed(s.Command))
			continue
		}
		lines = append(lines, head+fmt.Sprintf("%s, %s", text.Plural(len(s.Jobs), "unit"), text.Seconds(s.Expect)))
		for _, j := range s.Jobs {
			mark := " "
			if !j.Known {
				mark = "?"
			}
			lines = append(lines, fmt.Sprintf("%s%9s%s  %s", strings.Repeat(" ", 2), text.Seconds(j.Expect), mark, oneLine(j.Unit.Name)))
		}
	}
	if p.Listed && p.Units > 0 {
		lines = append(lines, fmt.Sprintf("expected: %s, at best %s", text.Seconds(p.Expect), text.Seconds(p.Bound)))
	}
	return lines
}

// planJSON is what boxer shard --dry-run --json prints. Keys are interface, as those of result.json.
type planJSON struct {
	Schema   int           `json:"schema"` // 1
	Static   bool          `json:"static"`
	Listed   bool          `json:"listed"`
	Units    int           `json:"units"`
	Known    int           `json:"units_with_times"`
	Expect   float64       `json:"expected_seconds"`
	Bound    float64       `json:"bound_seconds"`
	Shards   []plannedJSON `json:"shards"`
	Warnings []string      `json:"warnings"`
}

type plannedJSON struct {
	Number  int           `json:"number"`
	Of      int           `json:"of"`
	Command []string      `json:"command"` // empty with a list
	Expect  float64       `json:"expected_seconds"`
	Units   []plannedUnit `json:"units"`
}

type plannedUnit struct {
	Unit   string  `json:"unit"`
	Name   string  `json:"name"`
	Expect float64 `json:"expected_seconds"`
	Known  bool    `json:"known"` // false: the median of the others
}

// MarshalJSON gives the plan as one document.
func (p Plan) MarshalJSON() ([]byte, error) {
	doc := planJSON{
		Schema: 1, Static: p.Static, Listed: p.Listed, Units: p.Units, Known: p.Known, Expect: p.Expect.Seconds(),
		Bound: p.Bound.Seconds(), Shards: []plannedJSON{}, Warnings: some(p.Warnings),
	}
	for _, s := range p.Shards {
		j := plannedJSON{Number: s.Number, Of: s.Of, Command: some(s.Command), Expect: s.Expect.Seconds(), Units: []plannedUnit{}}
		for _, job := range s.Jobs {
			j.Units = append(j.Units, plannedUnit{job.Unit.Key, job.Unit.Name, job.Expect.Seconds(), job.Known})
		}
		doc.Shards = append(doc.Shards, j)
	}
	return json.Marshal(doc)
}
