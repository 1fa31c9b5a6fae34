package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

const (
	pins     = "release/checksums.txt"     // what action.yml compares a downloaded archive with
	template = "examples/gitlab/boxer.yml" // has two variables for the same
)

// pin writes the checksums into the repository. The archives are of the commit before the one that this makes.
func (r *release) pin(sums string) error {
	text := fmt.Sprintf("# SHA-256 of the archives of v%s, built from %s by %s.\n%s", r.Version, r.Commit, runtime.Version(), sums)
	if err := os.WriteFile(filepath.Join(r.Root, pins), []byte(text), 0o644); err != nil {
		return err
	}
	name := filepath.Join(r.Root, template)
	old, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(r.Story, "no", template, "to write checksums into")
		return nil
	}
	if err != nil {
		return err
	}
	pinned := string(old)
	for _, t := range r.Targets {
		if t.OS != "linux" {
			continue
		}
		if pinned, err = assign(pinned, "BOXER_SHA256_LINUX_"+strings.ToUpper(t.Arch), sumOf(sums, r.name(t))); err != nil {
			return fmt.Errorf("%s: %w", template, err)
		}
	}
	if pinned, err = defaultVersion(pinned, r.Version); err != nil {
		return fmt.Errorf("%s: %w", template, err)
	}
	return os.WriteFile(name, []byte(pinned), 0o644)
}

// defaultVersion makes a release the one that the template installs where nobody asks for another: it is the release
// whose checksums stand beside it.
func defaultVersion(text, version string) (string, error) {
	input := regexp.MustCompile(`(?m)^(    version:\n(?:      .*\n)*?      default: ).*$`)
	if n := len(input.FindAllString(text, -1)); n != 1 {
		return "", fmt.Errorf("%d inputs named version have a default, want 1", n)
	}
	return input.ReplaceAllString(text, "${1}"+version), nil
}

// assign gives a variable of a YAML file a new value, in the one line where it has one.
func assign(text, variable, value string) (string, error) {
	line := regexp.MustCompile(`(?m)^([ \t]*` + variable + `:[ \t]*)("[0-9a-f]*"|'[0-9a-f]*')`)
	if n := len(line.FindAllString(text, -1)); n != 1 {
		return "", fmt.Errorf("%d lines give %s a value in quotes, want 1", n, variable)
	}
	return line.ReplaceAllString(text, `${1}"`+value+`"`), nil
}

// sumOf is the checksum of one archive.
func sumOf(sums, name string) string {
	for line := range strings.Lines(sums) {
		if sum, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), "  "+name); ok {
			return sum
		}
	}
	return ""
}
