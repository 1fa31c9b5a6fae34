package initial

import (
	"fmt"
	"strings"
)

// width is where comments and folded lines are broken.
const width = 110

// YAML is the plan as the text of a boxer.yaml, with what a person may want to add as comments.
func (p Plan) YAML() string {
	w := &writer{}
	w.comment("", fmt.Sprintf("boxer init wrote this for %s (%s). boxer doctor shows what is in force; boxer shard runs it.", p.Kind, p.By))
	if p.Before != "" {
		w.comment("", "Before boxer, on the machine itself, for a sandbox has no network: "+p.Before)
	}
	p.head(w)
	w.line("")
	w.line("shard:")
	w.line("  # count: 4                # unset: as many as processors and memory admit")
	for _, n := range p.Notes {
		w.comment("  ", n)
	}
	p.dealt(w)
	p.command(w)
	p.reports(w)
	w.line("  # timeout: 20m            # of each shard")
	return w.String()
}

// head is what stands above shard.
func (p Plan) head(w *writer) {
	w.line("")
	if len(p.Env) > 0 {
		w.list("", "env", p.Env)
		w.line("# More of your variables that tests may see: NAME, NAME=value, PREFIX_*. Only safe ones enter by themselves.")
	} else {
		w.line(`# env: [DATABASE_URL, "APP_*"]   # variables that tests may see; only safe ones enter by themselves`)
	}
	w.line("")
	w.line("# services:                 # run inside; each shard gets the running service with data of its own")
	w.line("#   - name: db")
	w.line("#     run: redis-server --save ''")
	w.line("#     ready: redis-cli ping")
	if len(p.Setup) > 0 {
		w.comment("", "Once, after the services are ready; all shards start from what it leaves.")
		w.list("", "setup", p.Setup)
	} else {
		w.line(`# setup: ["./migrate.sh"]   # once, after the services are ready; all shards start from what it leaves`)
	}
	if p.Smolvm != "" {
		w.line(fmt.Sprintf("# smolvm: {image: %q, network: true, setup: [%q]}   # microVMs instead of gVisor", p.Smolvm, p.Before))
	}
}

// dealt is what boxer deals, if the runner cannot split by itself.
func (p Plan) dealt(w *writer) {
	switch {
	case len(p.Tests) > 0:
		w.list("  ", "tests", p.Tests)
	case strings.Contains(p.List, "\n"):
		w.line("  list: |")
		w.block("    ", p.List)
	case p.List != "":
		w.line(fmt.Sprintf("  list: %q", p.List))
	}
}

func (p Plan) command(w *writer) {
	switch {
	case p.Script != "":
		w.line("  command:")
		w.line("    - sh")
		w.line("    - -ec")
		w.line("    - |")
		w.block("      ", p.Script)
		if p.Tests != nil || p.List != "" {
			w.line("    - sh")
			w.line("    - <tests>")
		}
	case p.Line != "":
		w.line("  command: >-")
		w.wrapped("    ", p.Line)
	default:
		w.line("  # command: ./test.sh --part <i> --of <n>")
	}
}

func (p Plan) reports(w *writer) {
	if len(p.JUnit) > 0 {
		w.list("  ", "junit", p.JUnit)
	} else {
		w.comment("  ", `junit: unset, reports/, test-results/ and the like are looked at. Set, a report that is missing is an error: junit: ["reports/*.xml"]`)
	}
	if len(p.Artifacts) > 0 {
		w.list("  ", "artifacts", p.Artifacts)
	} else {
		w.line(`  # artifacts: ["coverage/**"]`)
	}
}

// writer builds the text.
type writer struct{ strings.Builder }

func (w *writer) line(s string) { w.WriteString(strings.TrimRight(s, " ") + "\n") }

func (w *writer) comment(indent, s string) { w.wrapped(indent+"# ", s) }

// wrapped breaks a text at blanks, each line behind the same start.
func (w *writer) wrapped(start, s string) {
	line := start
	for i, word := range strings.Fields(s) {
		if i > 0 && len(line)+1+len(word) > width {
			w.line(line)
			line = start
		}
		if line != start {
			line += " "
		}
		line += word
	}
	w.line(line)
}

// block writes the lines of a text as they are.
func (w *writer) block(indent, text string) {
	for l := range strings.SplitSeq(text, "\n") {
		w.line(indent + l)
	}
}

// list writes texts in quotes, so that none of them is taken for anything else.
func (w *writer) list(indent, key string, values []string) {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	w.line(indent + key + ": [" + strings.Join(quoted, ", ") + "]")
}
