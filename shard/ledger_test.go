package shard

import (
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/report"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	ids := func(from, to uint64) (all []uint64) {
		for i := from; i < to; i++ {
			all = append(all, i)
		}
		return all
	}
	file := []string{"a.js"}
	for _, tt := range []struct {
		name   string
		sets   [][]uint64
		files  []string
		closed bool
		line   string
		notes  string
	}{
		{"each once", [][]uint64{ids(0, 100), ids(100, 1284)}, file, true, "2 shards · 1,284 tests · each ran once", ""},
		{"one shard", [][]uint64{ids(0, 1)}, file, true, "1 shard · 1 test · each ran once", ""},
		{"an empty shard", [][]uint64{ids(0, 2), nil, nil}, file, true, "3 shards · 2 tests · each ran once", ""},
		{"equal sets that name files", [][]uint64{ids(0, 2), ids(0, 2), ids(5, 7)}, file, false,
			"3 shards · 6 tests · shards 1 and 2 ran the same 2 tests: the command ignores the shard index", ""},
		{"equal sets of ten", [][]uint64{ids(0, 10), ids(0, 10), ids(0, 10)}, nil, false,
			"3 shards · 30 tests · shards 1, 2 and 3 ran the same 10 tests: the command ignores the shard index", ""},
		{"equal sets of nine without files", [][]uint64{ids(0, 9), ids(0, 9)}, nil, true,
			"2 shards · 18 tests · some ran more than once", "shards 1 and 2 ran tests of the same names (9)"},
		{"a set-up in each shard", [][]uint64{ids(0, 5), append(ids(0, 2), ids(10, 20)...)}, file, true,
			"2 shards · 17 tests · some ran more than once", "2 tests ran in every shard"},
	} {
		var rep report.Result
		var shards []Shard
		for i, set := range tt.sets {
			totals := report.Totals{Tests: len(set)}
			rep.Shards = append(rep.Shards, report.Shard{Number: i + 1, IDs: set, Files: tt.files, Totals: totals, Checked: true})
			shards = append(shards, Shard{Number: i + 1, State: Passed, Totals: totals, Checked: true, Identity: identityOf(rep.Shards[i])})
		}
		l := balance(shards, rep, true)
		if l.Closed != tt.closed || l.Line != tt.line || strings.Join(l.Notes, "; ") != tt.notes {
			t.Errorf("%s: closed %v, %s; notes %q", tt.name, l.Closed, l.Line, l.Notes)
		}
	}
}
