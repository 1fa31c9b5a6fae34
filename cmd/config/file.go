package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// document is the file while it is read: what it is called in messages, and where its faults go.
type document struct {
	name   string
	faults *Faults
}

func (d document) faultf(n *yaml.Node, format string, args ...any) {
	d.faults.addf(d.at(n), format, args...)
}

func (d document) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", d.name, n.Line) }

// readFile finds, reads and takes apart the file. Without one it does nothing.
func (l *loader) readFile() {
	path, source, err := l.locate()
	if err != nil {
		l.faults.addf(source, "%s", err)
		return
	}
	if path == "" || l.leadsOut(path) {
		return
	}
	l.cfg.File = path
	if dir := filepath.Dir(path); within(l.request.Scope.Worktree, dir) {
		l.cfg.Base = dir // a file from elsewhere says nothing about where in the worktree its patterns start
	}
	d := document{name: l.displayName(path), faults: &l.faults}
	b, err := readBounded(path)
	if err != nil {
		l.faults.addf(d.name, "%s", bare(err))
		return
	}
	if root := d.parse(b); root != nil {
		l.file = d.top(root, &l.cfg)
		l.whereIs = func(section, key string) string { return d.placeOf(root, section, key) }
	}
}

// locate gives the file's path and what named it: a flag or variable, else the search upward.
func (l *loader) locate() (path, source string, err error) {
	path, source = l.request.File, "--config"
	if path == "" {
		path, source = Lookup(l.request.Env, FileVariable), FileVariable
	}
	if path == "" {
		path, err = find(l.request.Dir, l.request.Scope)
		return path, FileName, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.request.Dir, path)
	}
	l.named(path)
	path, err = filepath.EvalSymlinks(path)
	return path, source, err
}

// displayName is the path as a person would type it from the called folder.
func (l *loader) displayName(path string) string {
	if rel, err := filepath.Rel(l.request.Dir, path); err == nil && strings.Count(rel, "..") < 4 {
		return rel
	}
	return path
}

// parse gives the document's top mapping with aliases replaced, nil where there is nothing to read.
func (d document) parse(b []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		d.faults.addf(d.name, "holds more than one document: keep the first, and drop what follows ---")
		return nil
	}
	budget := maxNodes
	root, ok := expand(doc.Content[0], &budget)
	switch {
	case !ok:
		d.faults.addf(d.name, "its aliases expand to more than %d values: write them out", maxNodes)
		return nil
	case isNull(root):
		return nil
	case root.Kind != yaml.MappingNode:
		d.faultf(root, "holds %s where keys were expected", kindOf(root))
		return nil
	}
	return root
}

var lineOfYAML = regexp.MustCompile(`^yaml: (?:unmarshal errors:\n\s*)?(?:line (\d+): )?`)

func (d document) syntax(err error) {
	m := lineOfYAML.FindStringSubmatch(err.Error())
	where := d.name
	if m != nil && m[1] != "" {
		where += ":" + m[1]
	}
	d.faults.addf(where, "is no YAML: %s", lineOfYAML.ReplaceAllString(err.Error(), ""))
}

// maxNodes bounds what aliases expand to: a few lines can stand for billions of values.
const maxNodes = 10_000

// expand replaces aliases by copies of what they name. ok is false when the budget is used up, as a file whose alias
// holds itself does too.
func expand(n *yaml.Node, budget *int) (out *yaml.Node, ok bool) {
	if *budget--; *budget < 0 {
		return nil, false
	}
	if n.Kind == yaml.AliasNode {
		return expand(n.Alias, budget)
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if c.Content[i], ok = expand(child, budget); !ok {
			return nil, false
		}
	}
	return &c, true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a group of keys"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!int", n.Tag == "!!float":
		return fmt.Sprintf("the number %s", n.Value)
	case n.Tag == "!!bool":
		return fmt.Sprintf("%s (a truth value)", n.Value)
	case isNull(n):
		return "nothing"
	}
	return fmt.Sprintf("the text %q", n.Value)
}

// bare leaves the path out of an error whose place is printed anyway.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
