package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/boxer-ci/boxer/report/text"
	"github.com/boxer-ci/boxer/shard/screen"
)

const maxTails = 20

// results are the files in the folder that people and tools look for, as far as they are there.
func (d *reportDir) results(more ...string) []string {
	return slices.DeleteFunc(append([]string{"index.html", mergedFile, resultFile}, more...), func(name string) bool {
		info, err := d.root.Lstat(name)
		return err != nil || !info.Mode().IsRegular()
	})
}

// tails are the last lines of the shards that did not pass, each in a part of the CI's log of its own: as they came,
// the lines of all shards stand between each other.
func tails(res Result) []screen.Block {
	var all []screen.Block
	for _, s := range res.Shards {
		if s.State == Passed || len(s.tail) == 0 || len(all) == maxTails {
			continue
		}
		b := screen.Block{
			Name: fmt.Sprintf("shard_%d", s.Number), Title: fmt.Sprintf("[%d/%d] %s: the end of its output", s.Number, s.Of, s.State),
		}
		for _, line := range s.tail {
			b.Lines = append(b.Lines, "| "+text.Harmless(strings.TrimRight(line, "\r")))
		}
		all = append(all, b)
	}
	return all
}
