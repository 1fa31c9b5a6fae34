package shard

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/boxer-ci/boxer/report"
)

const schemaFile = "result.schema.json"

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, name string, doc []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// What runs and merges write is what the schema says: whatever came of them.
func TestResultsAreValid(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for name, res := range results {
		doc, err := res.JSON()
		if err != nil {
			t.Fatal(err)
		}
		valid(t, s, name, doc)
	}
	m := newMachine(t)
	for name, line := range map[string]string{
		"passed":          junit("r-<i>.xml", "t<i>"),
		"failed":          `mkdir out; echo x > out/a.txt; ln -s / out/l; printf '<testsuite><testcase name="a"><failure/></testcase></testsuite>' > r-<i>.xml; exit 1`,
		"no report":       "true",
		"half a report":   `printf '<testsuite><testcase name="a"/>' > r-<i>.xml`,
		"no test":         junit("r-<i>.xml"),
		"killed":          "kill -SEGV $$",
		"not there":       "",
		"ended by boxer":  "sleep 30",
		"flaky, and more": `printf '<testsuite><testcase name="a"><flakyFailure/></testcase><testcase name="b"><skipped/></testcase></testsuite>' > r-<i>.xml`,
	} {
		o := m.shell(1, line)
		o.JUnit, o.Artifacts, o.Node, o.ReportDir = []string{"r-<i>.xml"}, []string{"out/**"}, Node{2, 2}, filepath.Join(m.base, "rep", "node-2")
		switch line {
		case "":
			o.Command = []string{"no-such-program"}
		case "sleep 30":
			o.Timeout = 1
		}
		if _, err := Run(t.Context(), forking{m}, o); err != nil && name != "not there" {
			t.Errorf("%s: %v", name, err)
		}
		valid(t, s, name, []byte(contents(t, o.ReportDir, resultFile)))
		joined(t, m.base, "rep") // node 1 is missing
		valid(t, s, "merged: "+name, []byte(contents(t, m.base, "out", resultFile)))
	}
	put(t, m.base, "any.xml", `<testsuite><testcase name="a"><failure/></testcase>`)
	res, err := MergeFiles(t.Context(), []report.File{{Path: filepath.Join(m.base, "any.xml"), Name: "any.xml"}}, filepath.Join(m.base, "all.xml"), new(bytes.Buffer))
	doc, err2 := res.JSON()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	valid(t, s, "files", doc)
}

// The schema can say no.
func TestTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := schema(t)
	doc, err := results["troubled"].JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another schema":   {`"schema": 1`, `"schema": 2`},
		"a missing key":    {`"bound"`, `"bond"`},
		"a null":           {`"notes": [`, `"notes": null, "x": [`},
		"an unknown state": {`"timed out"`, `"asleep"`},
		"a text as number": {`"of": 4`, `"of": "4"`},
	} {
		changed := strings.Replace(string(doc), change[0], change[1], 1)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(changed))
		if err != nil || changed == string(doc) {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s is let through", name)
		}
	}
}

// described is the part of a JSON Schema that a Go type can be compared with.
type described struct {
	Type        string
	Description string
	Ref         string `json:"$ref"`
	Required    []string
	Properties  map[string]*described
	Items       *described
	Defs        map[string]*described `json:"$defs"`
}

// A key that comes, goes or changes its type changes the schema too, and each is described.
func TestTheSchemaIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root described
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	compareSchema(t, "document", reflect.TypeFor[document](), &root, root.Defs, used)
	for name := range root.Defs {
		if !used[name] {
			t.Errorf("$defs/%s is used nowhere", name)
		}
	}
}

func compareSchema(t *testing.T, where string, of reflect.Type, d *described, defs map[string]*described, used map[string]bool) {
	t.Helper()
	if name, ok := strings.CutPrefix(d.Ref, "#/$defs/"); ok {
		used[name] = true
		d = defs[name]
	}
	if d == nil {
		t.Errorf("%s is not in the schema", where)
		return
	}
	kinds := map[reflect.Kind]string{
		reflect.Int: "integer", reflect.Uint32: "integer", reflect.Float64: "number", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Struct: "object", reflect.Slice: "array",
	}
	if d.Type != kinds[of.Kind()] {
		t.Errorf("%s is %q in the schema and %s in the document", where, d.Type, of)
	}
	switch of.Kind() {
	case reflect.Slice:
		compareSchema(t, where+"[]", of.Elem(), d.Items, defs, used)
	case reflect.Struct:
		var keys []string
		for i := range of.NumField() {
			key := of.Field(i).Tag.Get("json")
			keys = append(keys, key)
			p := d.Properties[key]
			compareSchema(t, where+"."+key, of.Field(i).Type, p, defs, used)
			if p != nil && p.Description == "" && p.Ref == "" {
				t.Errorf("%s.%s is not described", where, key)
			}
		}
		if !slices.Equal(keys, d.Required) || len(d.Properties) != len(keys) {
			t.Errorf("%s: keys\n%q, required\n%q, properties %d", where, keys, d.Required, len(d.Properties))
		}
	}
}
