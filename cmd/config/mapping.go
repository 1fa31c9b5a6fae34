package config

import (
	"time"

	"gopkg.in/yaml.v3"
)

// field is one key of a mapping and who reads its value.
type field struct {
	name string
	read func(*yaml.Node)
}

// mapping gives each value to its field's reader. Unknown and doubled keys are faults; a key without a value counts
// as not written, since a list whose entries are all commented out looks like that.
func (d document) mapping(n *yaml.Node, what string, fields ...field) {
	if n.Kind != yaml.MappingNode {
		d.faultf(n, "%s: holds %s where keys were expected", what, kindOf(n))
		return
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := seen[key.Value]; twice {
			d.faultf(key, "key %q is there twice, first in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		known := false
		for _, f := range fields {
			if f.name == key.Value && key.Kind == yaml.ScalarNode {
				known = true
				if !isNull(value) {
					f.read(value)
				}
			}
		}
		if !known {
			d.faultf(key, "unknown key %q%s%s", key.Value, inside(what), Meant(key.Value, names))
		}
	}
}

func inside(what string) string {
	if what == "" {
		return ""
	}
	return " in " + what
}

// text reads a scalar as it is written.
func (d document) text(key string, to *string) field {
	return field{key, func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			d.faultf(n, "%s: holds %s where a text was expected", key, kindOf(n))
			return
		}
		*to = n.Value
	}}
}

func (d document) length(name, key string, to *time.Duration) field {
	return field{name, func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			d.faultf(n, "%s: holds %s where a length of time was expected", key, kindOf(n))
			return
		}
		v, err := duration(n.Value)
		if err == nil && v == 0 {
			err = badDuration(n.Value)
		}
		if err != nil {
			d.faultf(n, "%s: %s", key, err)
			return
		}
		*to = v
	}}
}

func (d document) whole(name, key string, to *int) field {
	return field{name, func(n *yaml.Node) {
		var v int
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&v) != nil || v < 1 {
			d.faultf(n, "%s: holds %s where a whole number from 1 was expected", key, kindOf(n))
			return
		}
		*to = v
	}}
}

func (d document) truth(name, key string, to *bool) field {
	return field{name, func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(to) != nil {
			d.faultf(n, "%s: holds %s where true or false was expected", key, kindOf(n))
		}
	}}
}

func (d document) texts(name, key string, to *[]string) field {
	return field{name, func(n *yaml.Node) { *to = d.list(key, n) }}
}

// list reads a list of texts; one text alone counts as a list of one, as people write it.
func (d document) list(key string, n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	if n.Kind != yaml.SequenceNode {
		d.faultf(n, "%s: holds %s where a list was expected", key, kindOf(n))
		return nil
	}
	out := make([]string, 0, len(n.Content))
	for _, e := range n.Content {
		if e.Kind != yaml.ScalarNode || isNull(e) {
			d.faultf(e, "%s: holds %s where a text was expected", key, kindOf(e))
			continue
		}
		out = append(out, e.Value)
	}
	return out
}
