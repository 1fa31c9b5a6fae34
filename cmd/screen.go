package cmd

import (
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/boxer-ci/boxer/report/ci"
	"github.com/boxer-ci/boxer/shard"
)

// show decides where and how the run is shown. With --json stdout is the document's alone.
func (o *shardOptions) show() {
	out := o.Out
	if o.call.json {
		out = o.Err
	}
	o.run.Out, o.run.CI, o.run.Mode = out, o.ci(), shard.Lines
	onTerminal := term.IsTerminal(int(out.Fd()))
	o.run.Colour, o.run.Plain = o.colours(onTerminal)
	o.run.Width = o.width(out, onTerminal)
	// A terminal is no proof of a person: some CI systems give their jobs one.
	if onTerminal && !o.inCI() && !o.dumb() {
		o.run.Mode = shard.Live
	}
}

// colours says whether boxer writes colours, and whether it takes those of the tests out as well. The order is the
// usual one: what was typed, NO_COLOR, what forces colours, what else speaks against them, where the text goes.
func (o *shardOptions) colours(onTerminal bool) (colour, plain bool) {
	forced := func(name string) bool {
		v := o.getenv(name)
		return v != "" && v != "0" && v != "false"
	}
	switch {
	case o.scoped.Color == "always":
		return true, false
	case o.scoped.Color == "never", o.getenv("NO_COLOR") != "":
		return false, true
	case forced("FORCE_COLOR"), forced("CLICOLOR_FORCE"):
		return true, false
	case o.getenv("CLICOLOR") == "0", o.getenv("TERM") == "dumb":
		return false, false
	case o.run.CI == ci.GitHub, o.run.CI == ci.GitLab: // their logs are no terminals, but show colours
		return true, false
	}
	return onTerminal && !o.dumb(), false
}

func (o *shardOptions) dumb() bool { return o.getenv("TERM") == "dumb" || o.getenv("TERM") == "" }

// width is how wide a line may be; 0 where nothing wraps it.
func (o *shardOptions) width(out *os.File, onTerminal bool) int {
	if onTerminal {
		if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(o.getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	if onTerminal {
		return 80
	}
	return 0
}

// ci is whose log this is.
func (o *shardOptions) ci() ci.System {
	if o.scoped.CI != "auto" {
		return ci.System(o.scoped.CI)
	}
	return ci.Detect(o.getenv)
}

func (o *shardOptions) inCI() bool {
	v := o.getenv("CI")
	return o.ci() != ci.None || (v != "" && v != "false")
}
