package units

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// maxList is how many bytes of a list are read. A million paths are a tenth of it; a core dump is not a list.
const maxList = 1 << 30

// Parse reads a list with a name on each line, or with a NUL byte behind each name. Byte order marks, carriage
// returns, blank lines and the white space around a line go; a name that is there twice counts once, at its first
// place. In a list with NUL bytes a name may hold anything else, so only entries without any visible sign go.
func Parse(r io.Reader, nul bool) ([]string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("the list has more than %d MiB", maxList>>20)
	}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errors.New("the list is written as UTF-16: write it as UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if nul {
		return once(strings.Split(string(text), "\x00"), func(s string) string { return s }), nil
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		return nil, fmt.Errorf("line %d of the list has a NUL byte: read a list that has them behind its names with -0", line)
	}
	// A lone carriage return ends a line too: it is what is left where a program drew its progress.
	lines := strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' || c == '\r' })
	return once(lines, strings.TrimSpace), nil
}

func once(entries []string, clean func(string) string) []string {
	names := []string{}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := clean(entry)
		if !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsSpace(c) }) || seen[name] {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}
