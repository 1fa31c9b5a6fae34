package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/report"
	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/shard"
)

type mergeOptions struct {
	deps
	Output string // as typed; "" is boxer-report
	dir    string // real folder that paths are relative to
	inputs mergeInputs
}

func newMerge(d deps, run func(context.Context, mergeOptions) error) *cobra.Command {
	o := mergeOptions{deps: d}
	c := &cobra.Command{
		Use:   "merge [flags] FOLDER... | merge [flags] -o FILE.xml FILE|PATTERN...",
		Short: "Join the reports of several CI nodes, or any JUnit reports, into one",
		Long: "Joins what boxer shard --node wrote on several machines, by the rules by which it joins its own shards. Each FOLDER\n" +
			"is the report folder of a node, or holds such folders, as downloaded artifacts do. A node that is missing, nodes\n" +
			"of different runs or counts, and results that cannot be read are errors, each by name; what there is is merged\n" +
			"all the same, with an error in the place of what is not, unless the nodes contradict each other. Of several attempts\n" +
			"of one node the last counts. The outcome goes to boxer-report, with the nodes' files in node-1, node-2, ... in it;\n" +
			"-o FILE.xml writes the merged JUnit report alone.\n\n" +
			"With files or patterns it joins any JUnit reports into the one that -o names, - for stdout. ** in a pattern means\n" +
			"folders at any depth; a pattern that matches nothing is an error.\n\n" +
			"Exit codes are those of boxer shard for what the merged report shows: 1 tests failed, 4 no test ran, 6 a node or a\n" +
			"report is missing, doubled or of another run, 125 something cannot be read or written.",
		Example: "  boxer merge artifacts\n  boxer merge -o out.xml 'reports/**/*.xml'",
	}
	c.Flags().StringVarP(&o.Output, "output", "o", "", "`folder` or .xml file for the outcome (default boxer-report)")
	d.answers(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		check := func(args []string, f *config.Faults) { o.check(args, f) }
		return action(d, check, func(ctx context.Context) error { return run(ctx, o) })(c, args)
	}
	return c
}

// check sorts out what the arguments mean. The folder of the call is told by action if it is not there.
func (o *mergeOptions) check(args []string, f *config.Faults) {
	var err error
	if o.dir, err = o.deps.dir(); err != nil {
		return
	}
	if len(args) == 0 {
		fault(f, "", "nothing to merge: boxer merge FOLDER..., or boxer merge -o out.xml 'reports/**/*.xml'")
	}
	o.inputs = expand(o.dir, o.outputFile(), args, f)
	folders, files := len(o.inputs.folders) > 0, len(o.inputs.files) > 0
	switch isFile := o.outputFile() != ""; {
	case folders && files:
		fault(f, "", "%s is a folder and %s is a file: merge either nodes or files", o.inputs.folders[0], o.inputs.files[0])
	case files && o.Output == "":
		fault(f, "-o", "files go into a file: boxer merge -o out.xml %s", strings.Join(args, " "))
	case files && !isFile && o.Output != "-":
		fault(f, "-o", "%q is no .xml file, and files go into one", o.Output)
	case folders && o.Output == "-":
		fault(f, "-o", "the reports of nodes go into a folder or an .xml file, not to stdout")
	case o.Output == "-" && o.call.json:
		fault(f, "--json", "stdout is the report's with -o -")
	}
}

// outputFile is the path that -o names if it is meant as a file, else "".
func (o *mergeOptions) outputFile() string {
	if o.Output == "" || o.Output == "-" {
		return ""
	}
	path := o.at(o.Output)
	info, err := os.Stat(path)
	if err == nil && info.IsDir() || strings.HasSuffix(o.Output, "/") {
		return ""
	}
	if err != nil && !strings.EqualFold(filepath.Ext(path), ".xml") {
		return ""
	}
	return path
}

func (o *mergeOptions) at(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(o.dir, path)
}

func runMerge(ctx context.Context, o mergeOptions) error {
	var result shard.Result
	var err error
	if len(o.inputs.files) > 0 {
		result, err = o.mergeFiles(ctx)
	} else {
		result, err = shard.Merge(ctx, o.nodes())
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return cause
	}
	if len(o.inputs.folders) > 0 && o.outputFile() == "" {
		o.tellCI(o.nodes().Out, result, err)
	}
	if o.call.json && result.ReportDir != "" {
		b, failed := result.JSON()
		if failed == nil {
			failed = o.answer(json.RawMessage(o.masker().Mask(string(b))))
		}
		err = errors.Join(err, failed)
	}
	return ended{result.ExitCode, err}
}

// nodes are the options for a merge of nodes. The summary is the answer, as that of shard is.
func (o mergeOptions) nodes() shard.MergeOptions {
	m := shard.MergeOptions{File: o.outputFile(), Base: o.dir, Out: o.masked(o.Out), Say: o.say}
	if o.call.json {
		m.Out = o.masked(o.Err)
	}
	if m.File == "" {
		m.Dir = o.at("boxer-report")
		if o.Output != "" {
			m.Dir = o.at(o.Output)
		}
	}
	for _, f := range o.inputs.folders {
		m.Folders = append(m.Folders, o.at(f))
	}
	return m
}

func (o mergeOptions) mergeFiles(ctx context.Context) (shard.Result, error) {
	var files []report.File
	for _, f := range o.inputs.files {
		files = append(files, report.File{Path: o.at(f), Name: f})
	}
	if o.Output != "-" {
		return shard.MergeFiles(ctx, files, o.outputFile(), o.masked(o.Err))
	}
	dir, err := os.MkdirTemp("", "boxer-merge-")
	if err != nil {
		return shard.Result{ExitCode: exitBroken}, unwritten(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "junit.xml")
	result, err := shard.MergeFiles(ctx, files, path, o.masked(o.Err))
	if err == nil {
		err = o.copyOut(path)
	}
	if err != nil {
		result.ExitCode = exitBroken
	}
	return result, err
}

func (o mergeOptions) copyOut(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return unwritten(err)
	}
	defer f.Close()
	if _, err := io.Copy(o.Out, f); err != nil {
		return unwritten(err)
	}
	return nil
}

func unwritten(err error) error {
	return (&runner.Error{
		Reason: "the merged report was not written", Cause: "REPORT_NOT_WRITTEN", Fix: "boxer merge -o out.xml ...",
	}).Because(err)
}

// masked hides the secrets of the caller in what is written. Each write is whole lines.
func (d deps) masked(w io.Writer) io.Writer { return maskedWriter{w, d.masker()} }

type maskedWriter struct {
	w io.Writer
	m config.Masker
}

func (m maskedWriter) Write(p []byte) (int, error) {
	if _, err := fmt.Fprint(m.w, m.m.Mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
