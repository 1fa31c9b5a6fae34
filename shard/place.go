package shard

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/boxer-ci/boxer/report"
)

// mentioned finds a place in the text of a failure: path:line, or as Python writes it.
var mentioned = regexp.MustCompile(`File "([^"\n]+)", line (\d+)|([\w@./+-]*[\w@+-]\.[A-Za-z]\w{0,4}):(\d+)`)

const (
	maxMentions = 50
	maxLineNo   = 1 << 30
)

// locator finds where in the repository a failed test stands. In every sandbox the worktree lies at its own path, so
// a path from inside is one of the host. Only files that are there count, and nothing outside of the worktree is
// looked at: paths come from tests.
type locator struct {
	root *os.Root
	top  string
	dirs []string // that a runner may have written its paths from
}

// locate makes the places of the cases relative to the repository. One without a file gets the first that its text
// mentions, which is mostly the assertion that failed.
func (o Options) locate(cases []report.Case) {
	if len(cases) == 0 || o.Scope.Worktree == "" {
		return
	}
	root, err := os.OpenRoot(o.Scope.Worktree)
	if err != nil {
		return
	}
	defer root.Close()
	l := locator{root: root, top: o.Scope.Worktree, dirs: []string{o.Dir, o.Base, o.Scope.Worktree}}
	for i := range cases {
		l.place(&cases[i])
	}
}

func (l locator) place(c *report.Case) {
	if c.File != "" {
		if file := l.find(c.File); file != "" {
			c.File = file
			if c.Line == 0 {
				c.Line = l.lineIn(file, c.Message+"\n"+c.Body)
			}
		}
		return
	}
	l.each(c.Message+"\n"+c.Body, func(file string, line int) bool {
		c.File, c.Line = file, line
		return true
	})
}

// lineIn is the line of the first mention of the file, 0 if there is none.
func (l locator) lineIn(file, text string) (found int) {
	l.each(text, func(mention string, line int) bool {
		if mention == file {
			found = line
		}
		return found != 0
	})
	return found
}

// each goes through the places in a text until one is taken. What other people wrote is not where the test stands.
func (l locator) each(text string, take func(file string, line int) bool) {
	for _, m := range mentioned.FindAllStringSubmatch(text, maxMentions) {
		line, err := strconv.Atoi(m[2] + m[4])
		file := l.find(m[1] + m[3])
		if err != nil || line < 1 || line > maxLineNo || file == "" || strings.Contains("/"+file, "/node_modules/") || strings.Contains("/"+file, "/vendor/") {
			continue
		}
		if take(file, line) {
			return
		}
	}
}

// find is the file as seen from the repository's root, or "".
func (l locator) find(name string) string {
	name = strings.TrimPrefix(name, "file://")
	for _, dir := range l.dirs {
		path := name
		if !filepath.IsAbs(name) {
			path = filepath.Join(dir, name)
		}
		rel, err := filepath.Rel(l.top, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := l.root.Stat(rel); err == nil && info.Mode().IsRegular() {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}
