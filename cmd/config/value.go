package config

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/mattn/go-shellwords"
)

// MaxCount is the largest number of children that makes sense on one machine; smolvm's own limit is the same.
const MaxCount = 1024

// maxRetries is the largest number of retries: a test that passes once in eleven times is broken.
const maxRetries = 10

// Count reads a number of children: from 1 to MaxCount.
func Count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxCount {
		return 0, fmt.Errorf("%q is no number of children: the smallest is 1, the largest sensible one %d", s, MaxCount)
	}
	return n, nil
}

func setCount(c *Config, g given) (err error) {
	if g.last() == "auto" {
		c.Shard.Count = 0
		return nil
	}
	c.Shard.Count, err = Count(g.last())
	if err != nil {
		return fmt.Errorf("%w, or auto", err)
	}
	return nil
}

// setCodes reads exit codes, separated by commas or given one by one.
func setCodes(c *Config, g given) error {
	c.Shard.EmptyCodes = nil
	for _, word := range strings.Split(strings.Join(g.words, ","), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 255 {
			return fmt.Errorf("%q is no exit code from 1 to 255", word)
		}
		c.Shard.EmptyCodes = append(c.Shard.EmptyCodes, n)
	}
	return nil
}

func setCommand(c *Config, g given) error {
	command := g.words
	if !g.list && len(g.words) > 0 {
		var err error
		if command, err = splitLine(strings.Join(g.words, " ")); err != nil {
			return err
		}
	}
	if len(command) > 0 && strings.TrimSpace(command[0]) == "" {
		return errors.New("the command is empty")
	}
	if len(command) == 0 && g.source != "default" {
		return errors.New("the command is empty")
	}
	c.Shard.Command = command
	return nil
}

// placeholders are what boxer replaces in a command. To a shell, and so to go-shellwords, < and > are redirections:
// they are put aside while the line is split.
var placeholders = []string{"i", "i0", "n", "tests", "tests-file", "child"}

// splitLine splits one line into words as a shell would, and refuses what only a shell could do: silently passing
// "$X" or "|" on as a word would run something else than what was meant.
func splitLine(line string) ([]string, error) {
	hide, show := make([]string, 0, 2*len(placeholders)), make([]string, 0, 2*len(placeholders))
	for _, p := range placeholders {
		hide = append(hide, "<"+p+">", "\uE000"+p+"\uE001")
		show = append(show, "\uE000"+p+"\uE001", "<"+p+">")
	}
	variable := ""
	parser := shellwords.NewParser()
	parser.ParseEnv = true
	parser.Getenv = func(name string) string { variable = name; return "" }
	out, err := parser.Parse(strings.NewReplacer(hide...).Replace(line))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be split into words (an open quote, or a bracket outside quotes?); a list of words needs no quoting")
	case parser.Position >= 0:
		return nil, fmt.Errorf("no shell reads this line, so it cannot hold ; & | < or > outside quotes: write sh -c '...'")
	case variable != "":
		return nil, fmt.Errorf("no shell reads this line, so $%s is not replaced: write sh -c '...', or <i> and <n> for the shard", variable)
	}
	for i := range out {
		out[i] = strings.NewReplacer(show...).Replace(out[i])
	}
	return out, nil
}

// globs checks that patterns can be read. Whether they stay in the worktree is told by confine.
func globs(field func(*Config) *[]string) func(*Config, given) error {
	return func(c *Config, g given) error {
		for _, p := range g.words {
			if strings.TrimSpace(p) == "" {
				return errors.New("a pattern is empty")
			}
			if _, err := path.Match(p, ""); err != nil || strings.Count(p, "{") != strings.Count(p, "}") {
				return fmt.Errorf("%q is no pattern: a bracket is open", p)
			}
		}
		*field(c) = append([]string(nil), g.words...)
		return nil
	}
}

func notOneOf(got string, allowed []string) error {
	return fmt.Errorf("%q is not one of %s%s", got, strings.Join(allowed, ", "), Meant(got, allowed))
}

func badDuration(s string) error {
	if _, err := strconv.Atoi(s); err == nil && !strings.HasPrefix(s, "-") {
		return fmt.Errorf("%q has no unit: write %ss, %sm or %sh", s, s, s, s)
	}
	return fmt.Errorf("%q is no length of time, such as 30s, 20m or 1h30m", s)
}
