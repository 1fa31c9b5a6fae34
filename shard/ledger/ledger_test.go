package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/boxer-ci/boxer/shard/units"
)

func list(names ...string) []units.Unit {
	var all []units.Unit
	for _, n := range names {
		all = append(all, units.Unit{Name: "./" + n, Key: n})
	}
	return all
}

// goes gives a unit so many goes, with these outcomes; the first is no retry.
func (b *Book) goes(key string, outcomes ...Outcome) {
	for i, o := range outcomes {
		b.Give([]units.Unit{{Key: key}}, Go{Attempt: i + 1}, false)
		b.End(key, func(g *Go) { g.Outcome, g.Report = o, true })
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		outcomes []Outcome
		want     Verdict
	}{
		{nil, IsNotRun},
		{[]Outcome{Passed}, IsPassed},
		{[]Outcome{Failed}, IsFailed},
		{[]Outcome{Hung}, IsFailed},
		{[]Outcome{Lost}, IsFailed},
		{[]Outcome{NoResult}, IsMissing},
		{[]Outcome{Interrupted}, IsNotRun},
		{[]Outcome{Given}, IsNotRun},
		{[]Outcome{Failed, Passed}, IsFlaky},
		{[]Outcome{Hung, Failed, Passed}, IsFlaky},
		{[]Outcome{Failed, Failed}, IsReal},
		{[]Outcome{Failed, Interrupted}, IsFailed}, // the retry was cut off
		{[]Outcome{Failed, NoResult}, IsReal},
	} {
		b := New(list("a"), nil)
		b.goes("a", tt.outcomes...)
		b.Close()
		if got := b.Entries()[0].Verdict; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.outcomes, got, tt.want)
		}
	}
	// A unit whose command was ended for another's sake and that then ran by itself was not retried.
	b := New(list("a"), nil)
	b.goes("a", Interrupted)
	b.Give(list("a"), Go{Attempt: 1}, true)
	b.End("a", func(g *Go) { g.Outcome = Failed })
	b.Close()
	if got := b.Entries()[0].Verdict; got != IsFailed {
		t.Errorf("%q", got)
	}
}

func TestBalance(t *testing.T) {
	t.Parallel()
	five := []string{"a", "b", "c", "d", "e"}
	for _, tt := range []struct {
		name    string
		keep    func(b *Book)
		stopped bool
		closed  bool
		want    string
	}{
		{"all passed", func(b *Book) {}, false, true, "[] []"},
		{"one failed", func(b *Book) { b.goes("a", Failed) }, false, true, "[] []"},
		{"no result", func(b *Book) { b.entries[1].Goes = nil; b.goes("b", NoResult) }, false, false,
			"[missing: 1 unit left no result (b)] []"},
		{"never ran", func(b *Book) {
			for _, e := range b.entries[1:] {
				e.Goes = nil
			}
		}, false, false, "[4 units never ran (b, c, d and 1 more)] []"},
		{"stopped", func(b *Book) { b.entries[1].Goes = nil }, true, true, "[1 unit never ran (b)] []"},
		{"doubled", func(b *Book) { b.Command("2/1", []string{"a"}) }, false, false,
			"[doubled: 1 unit also ran where it was not given (a)] []"},
		{"a set-up", func(b *Book) {
			b.Command("1/1", nil)
			b.Command("1/2", []string{"a"})
			b.Command("2/1", []string{"a", "a"})
		}, false, true, "[] [every command ran 1 unit (a): a set-up that each needs?]"},
		{"of two commands it may be the wrong one", func(b *Book) {
			b.Command("1/1", nil)
			b.Command("2/1", []string{"a"})
		}, false, false, "[doubled: 1 unit also ran where it was not given (a)] []"},
		{"everything everywhere is no set-up", func(b *Book) {
			for i := range 3 {
				b.Command(fmt.Sprint(i), five)
			}
		}, false, false, "[doubled: 5 units also ran where it was not given (a, b, c and 2 more)] []"},
	} {
		b := New(list(five...), nil)
		for _, key := range five {
			b.goes(key, Passed)
		}
		tt.keep(b)
		b.Close()
		got := b.Balance(tt.stopped)
		if s := fmt.Sprint(got.Parts, " ", got.Notes); s != tt.want || got.Closed != tt.closed {
			t.Errorf("%s: %s, closed %v\nwant %s, closed %v", tt.name, s, got.Closed, tt.want, tt.closed)
		}
	}
}

func TestByCommand(t *testing.T) {
	t.Parallel()
	b := New(list("a", "b"), nil)
	b.goes("a", Passed)
	if b.ByCommand() {
		t.Error("b has not run: nothing is known of it by a command")
	}
	b.goes("b", Passed)
	b.End("b", func(g *Go) { g.Report = false })
	if !b.ByCommand() {
		t.Error("an exit code is all that is known of b")
	}
}

// The order in which a child ran its units starts anew in a fresh child, also in one of the same name.
func TestOrder(t *testing.T) {
	t.Parallel()
	b := New(list("a", "b", "c", "d"), nil)
	b.Give(list("b", "a"), Go{Child: "f1"}, true)
	b.Give(list("c"), Go{Child: "f1"}, false)
	b.Give(list("d"), Go{Child: "f1"}, true)
	got := ""
	for _, l := range b.Lines() {
		got += fmt.Sprint(l.Unit, l.Goes[0].Order, " ")
	}
	if got != "a2 b1 c3 d1 " {
		t.Error(got)
	}
}

func TestLoadAndAgain(t *testing.T) {
	t.Parallel()
	b := New(list("a", "b", "c", "d", "e"), nil)
	b.goes("a", Passed)
	b.goes("b", Failed)
	b.goes("c", Failed, Passed)
	b.goes("d", NoResult)
	b.Close()
	text, err := json.Marshal(Document{Schema: Schema, Listed: true, Units: b.Lines()})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ledger.json")
	load := func(text string) (Document, error) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return Load(file)
	}
	doc, err := load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, u := range doc.Again(list("a", "b", "c", "d", "e", "new")) {
		got += u.Key + " "
	}
	if got != "b d e new " {
		t.Error(got)
	}
	for text, want := range map[string]string{
		`{"schema":2,"listed":true}`:  "its schema is 2, not 1",
		`{"schema":1,"listed":false}`: "without a test list",
		`{"schema":`:                  "cannot be read as a ledger",
		`[]`:                          "cannot be read as a ledger",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
