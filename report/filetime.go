package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// FileTime is what the cases of one file took together, over all shards. Where a report names no files, its classes
// stand for them, or else its suites.
type FileTime struct {
	Name    string
	Tests   int
	Seconds float64
}

// fileTimes sums up by file. Names are a test's to choose, so their memory has a limit: when it is reached, the quicker
// half of the files goes. The cases of a file follow one another, so what goes is hardly ever one that comes again.
type fileTimes struct {
	files map[string]*FileTime
	bytes int // of the names
}

func newFileTimes() *fileTimes { return &fileTimes{files: map[string]*FileTime{}} }

func (f *fileTimes) add(s *suite, c *Case) {
	name := cmp.Or(c.File, s.file, c.Classname, c.Suite)
	if name == "" {
		return
	}
	t, known := f.files[name]
	if !known {
		if f.bytes+len(name) > maxFileTimeNames {
			f.halve()
		}
		name = strings.Clone(name)
		t = &FileTime{Name: name}
		f.files[name] = t
		f.bytes += len(name)
	}
	t.Tests++
	t.Seconds += c.Seconds
}

func (f *fileTimes) halve() {
	all := f.sorted()
	for _, t := range all[len(all)/2:] {
		delete(f.files, t.Name)
		f.bytes -= len(t.Name)
	}
}

// sorted gives the files, the longest first.
func (f *fileTimes) sorted() []*FileTime {
	return slices.SortedFunc(maps.Values(f.files), func(a, b *FileTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
}

// list gives the slowest.
func (f *fileTimes) list() []FileTime {
	var out []FileTime
	for _, t := range f.sorted() {
		if len(out) == maxSlowest || t.Seconds == 0 {
			break
		}
		out = append(out, *t)
	}
	return out
}
