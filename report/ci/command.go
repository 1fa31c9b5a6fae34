package ci

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/boxer-ci/boxer/report/text"
)

const (
	// MaxErrors is how many error annotations a step may have of ten: the runner adds the tenth, with the exit code.
	MaxErrors = 9
	// maxTroubles leaves room for failed tests where shards had troubles of their own.
	maxTroubles = 4

	maxMessage = 4096 // characters; the runner cuts there
	maxTitle   = 200
)

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string     { return dataEscapes.Replace(s) }
func property(s string) string { return propertyEscapes.Replace(s) }

// Masks are the commands that make the runner hide the secrets from here on, in what other steps print too. It reads
// them by lines, so one of several lines must be given line by line.
func Masks(secrets []string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, s := range secrets {
		for line := range strings.Lines(s) {
			line = strings.TrimRight(line, "\r\n")
			if strings.TrimSpace(line) != "" && !seen[line] {
				seen[line] = true
				b.WriteString("::add-mask::" + data(line) + "\n")
			}
		}
	}
	return b.String()
}

// Annotations are the commands that show what is wrong beside the code: one that sums up, then the first failure of
// each file. They count only outside of a fence.
func Annotations(r Run) string {
	if r.ExitCode == 0 {
		return ""
	}
	shown := chosen(r)
	var b strings.Builder
	sum := r.Headline() + "\n" + text.Plain(r.Ledger)
	if more := r.Totals.Failures - len(shown); more > 0 && len(shown) > 0 {
		sum += "\n" + "+" + text.Thousands(more) + " more, all in the summary and in " + text.Plain(r.Report)
	}
	b.WriteString(annotation(Case{Name: "boxer", Message: sum}))
	for _, c := range shown {
		b.WriteString(annotation(c))
	}
	return b.String()
}

// chosen are the cases that get an annotation.
func chosen(r Run) []Case {
	room := MaxErrors - 1
	failed := onePerFile(r.Failed)
	troubles := r.Troubles
	if n := max(maxTroubles, room-len(failed)); len(troubles) > n {
		troubles = troubles[:n]
	}
	all := append(append([]Case(nil), troubles...), failed...)
	return all[:min(len(all), room)]
}

// onePerFile drops the later failures of a file: they mostly have the cause of the first. What names no file stays.
func onePerFile(all []Case) []Case {
	var out []Case
	seen := map[string]bool{}
	for _, c := range all {
		if c.File == "" || !seen[c.File] {
			seen[c.File] = true
			out = append(out, c)
		}
	}
	return out
}

// Warning is the command that shows a warning beside the run. It counts only outside of a fence.
func Warning(title, message string) string {
	return "::warning title=" + property(short(text.Plain(title), maxTitle)) + "::" + data(short(block(message), maxMessage)) + "\n"
}

func annotation(c Case) string {
	var properties []string
	if c.File != "" {
		properties = append(properties, "file="+property(text.Plain(c.File)))
		if c.Line > 0 {
			properties = append(properties, "line="+strconv.Itoa(c.Line))
		}
	}
	properties = append(properties, "title="+property(short(text.Plain(c.Name), maxTitle)))
	message := short(block(strings.Trim(c.said(), "\r\n")), maxMessage)
	return "::error " + strings.Join(properties, ",") + "::" + data(message) + "\n"
}

// block is text of several lines, each of them harmless.
func block(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = text.Plain(line)
	}
	return strings.Join(lines, "\n")
}

// short cuts a text to that many characters.
func short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == most {
			return s[:i] + "…"
		}
	}
	return s
}
