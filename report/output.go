package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const xmlHeader = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// output is the merged report on its way to disk: a temporary file beside it, renamed at the end, so that whoever looks
// sees an old report or the new one. The totals stand at its start and are known at its end, so room is left for them;
// white space in a tag means nothing.
type output struct {
	path, name string
	file       *os.File
	xml        xmlText // not yet written to the file
	size       int64
	limit      int64 // above which outputs are left out

	room         int64 // where the tag of the suite that is being written in parts goes
	propsWritten int   // of that suite
	err          error // the first; counting goes on without a file

	ofPassed, overlong int64 // bytes of output that could be spared
}

func newOutput(path string, options Options) *output {
	o := &output{path: path, name: cleanName(cmp.Or(options.Name, "boxer")), limit: cmp.Or(options.limit, maxMerged)}
	if path != "" {
		o.err = o.create()
	}
	o.xml.raw(xmlHeader)
	o.leaveRoom(o.rootTag(Totals{}))
	o.xml.raw("\n")
	return o
}

func (o *output) create() error {
	// A device or a folder would be replaced by the rename, or not at all.
	if info, err := os.Lstat(o.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write the merged report: %s is no regular file", o.path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the merged report: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(o.path), ".boxer-*.tmp")
	if err != nil {
		return fmt.Errorf("write the merged report: %w", err)
	}
	o.file = file
	return nil
}

// spill writes to disk when there is enough of it.
func (o *output) spill() {
	if len(o.xml) >= outputSize {
		o.flush()
	}
}

// flush never fails, because the verdicts are still to be counted if the disk is full.
func (o *output) flush() {
	o.size += int64(len(o.xml))
	if o.file != nil && o.err == nil {
		_, o.err = o.file.Write(o.xml)
	}
	o.xml = o.xml[:0]
}

// leaveRoom leaves as much as the tag needs when its totals are known.
func (o *output) leaveRoom(tag string) {
	o.room = o.size + int64(len(o.xml))
	o.xml.raw(strings.Repeat(" ", len(tag)+len("2147483647")*4+24))
}

// fillRoom writes the tag where room was left last.
func (o *output) fillRoom(tag string) {
	o.flush()
	if o.file != nil && o.err == nil {
		_, o.err = o.file.WriteAt([]byte(tag), o.room)
	}
}

func (o *output) rootTag(t Totals) string {
	var x xmlText
	x.tag("testsuites", append([]attr{{"name", o.name}}, t.attributes()...)...)
	return string(x)
}

// attributes are the totals as they are written.
func (t Totals) attributes() []attr {
	return []attr{
		{"tests", strconv.Itoa(t.Tests)}, {"failures", strconv.Itoa(t.Failures)}, {"errors", strconv.Itoa(t.Errors)},
		{"skipped", strconv.Itoa(t.Skipped)}, {"time", formatSeconds(t.Seconds)},
	}
}

// commit fills in the totals and puts the report in its place.
func (o *output) commit(t Totals) error {
	o.xml.raw("</testsuites>\n")
	o.flush()
	if o.file == nil {
		return o.err
	}
	err := o.err
	for _, step := range []func() error{
		func() error { return o.writeRoot(t) },
		o.file.Sync,
		func() error { return o.file.Chmod(0o644) },
		o.file.Close,
		func() error { return os.Rename(o.file.Name(), o.path) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		o.discard()
		return fmt.Errorf("write the merged report %s: %w", o.path, err)
	}
	return nil
}

func (o *output) writeRoot(t Totals) error {
	_, err := o.file.WriteAt([]byte(o.rootTag(t)), int64(len(xmlHeader)))
	return err
}

// discard removes the temporary file.
func (o *output) discard() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}
