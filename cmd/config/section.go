package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/boxer-ci/boxer/runner"
)

// top reads the whole file: settings into the returned map, the sections that only a file can hold into c.
func (d document) top(root *yaml.Node, c *Config) map[string]given {
	found := map[string]given{}
	d.mapping(root, "", append(d.settings("", found),
		field{"services", func(n *yaml.Node) { c.Services = d.services(n) }},
		field{"setup", func(n *yaml.Node) {
			c.Setup = d.setup(n)
			found["setup"] = given{words: lines(c.Setup), list: true, source: d.at(n)}
		}},
		field{"smolvm", func(n *yaml.Node) { d.smolvm(n, &c.Smolvm) }},
		field{"shard", func(n *yaml.Node) { d.mapping(n, "shard", d.settings("shard.", found)...) }},
	)...)
	return found
}

// placeOf is where a key of a section stands, for messages.
func (d document) placeOf(root *yaml.Node, section, key string) string {
	at := root
	for _, name := range []string{section, key} {
		for i := 0; i+1 < len(at.Content); i += 2 {
			if at.Content[i].Value == name {
				at = at.Content[i+1]
				break
			}
		}
	}
	return d.at(at)
}

// settings are the fields of those settings whose key is the prefix and one word.
func (d document) settings(prefix string, found map[string]given) []field {
	var out []field
	for i := range settings {
		s := &settings[i]
		name, ok := strings.CutPrefix(s.key, prefix)
		if s.fileless || !ok || strings.Contains(name, ".") {
			continue
		}
		out = append(out, field{name, func(n *yaml.Node) { d.setting(s, n, found) }})
	}
	return out
}

func (d document) setting(s *setting, n *yaml.Node, found map[string]given) {
	g := given{source: d.at(n)}
	switch {
	case s.list:
		g.words = d.list(s.key, n)
		g.list = n.Kind == yaml.SequenceNode
	case n.Kind == yaml.ScalarNode:
		g.words = []string{n.Value}
	default:
		d.faultf(n, "%s: holds %s where one value was expected", s.key, kindOf(n))
		return
	}
	found[s.key] = g
}

func (d document) services(n *yaml.Node) []runner.Service {
	var out []runner.Service
	lines := map[string]int{}
	for _, e := range d.entries("services", n) {
		var s runner.Service
		d.mapping(e, "services",
			d.text("name", &s.Name), d.text("init", &s.Init), d.text("run", &s.Run), d.text("ready", &s.Ready),
			d.text("user", &s.User), d.length("timeout", "services.timeout", &s.Timeout))
		if e.Kind != yaml.MappingNode {
			continue
		}
		d.checkService(e, s, lines)
		out = append(out, s)
	}
	return out
}

func (d document) checkService(n *yaml.Node, s runner.Service, lines map[string]int) {
	switch first, twice := lines[s.Name]; {
	case s.Name == "":
		d.faultf(n, "services: a service has no name")
	case !isServiceName(s.Name):
		d.faultf(n, "services: %q cannot be a name: letters, digits, - and _ can", s.Name)
	case twice:
		d.faultf(n, "services: %q is there twice, first in line %d", s.Name, first)
	}
	lines[s.Name] = n.Line
	if strings.TrimSpace(s.Run) == "" {
		d.faultf(n, "services: %q has no run line", s.Name)
	}
}

// isServiceName keeps names usable as file names: a service's log is called by it.
func isServiceName(s string) bool {
	return len(s) <= 64 && !strings.HasPrefix(s, "-") && isName("_"+strings.ReplaceAll(s, "-", "_"))
}

func (d document) setup(n *yaml.Node) []runner.SetupStep {
	var out []runner.SetupStep
	for _, e := range d.entries("setup", n) {
		var s runner.SetupStep
		if e.Kind == yaml.ScalarNode {
			s.Run = e.Value
		} else {
			d.mapping(e, "setup", d.text("run", &s.Run), d.text("user", &s.User), d.length("timeout", "setup.timeout", &s.Timeout))
		}
		if strings.TrimSpace(s.Run) == "" {
			if e.Kind != yaml.SequenceNode {
				d.faultf(e, "setup: a step has no command")
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// lines are what doctor shows of the steps.
func lines(steps []runner.SetupStep) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.Run
	}
	return out
}

// entries are the elements of a list; one element without a list around it is refused, since the next one that
// somebody adds would be lost.
func (d document) entries(key string, n *yaml.Node) []*yaml.Node {
	if key == "setup" && n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	if n.Kind != yaml.SequenceNode {
		d.faultf(n, "%s: holds %s where a list was expected", key, kindOf(n))
		return nil
	}
	return n.Content
}

func (d document) smolvm(n *yaml.Node, m *runner.MachineConfig) {
	d.mapping(n, "smolvm",
		d.text("image", &m.Image),
		d.whole("cpus", "smolvm.cpus", &m.CPUs),
		d.whole("memory", "smolvm.memory", &m.Memory),
		d.truth("network", "smolvm.network", &m.Network),
		d.texts("setup", "smolvm.setup", &m.Setup),
		d.texts("exclude", "smolvm.exclude", &m.Exclude))
}
