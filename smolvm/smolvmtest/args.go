package smolvmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is one flag of a command.
type option struct {
	name    string
	short   byte // 0: none
	aliases []string
	value   string // what help calls its value; "" is a switch
	many    bool
}

func (o option) String() string {
	if o.value == "" {
		return "--" + o.name
	}
	return fmt.Sprintf("--%s <%s>", o.name, o.value)
}

// command is one subcommand. Like the real one it takes nothing that it does not know.
type command struct {
	names      []string // and aliases
	about      string
	options    []option
	positional []string // names of the arguments, all needed
	trailing   string   // name of what comes after --; "" is nothing
	needs      bool     // and there must be something
	needsName  bool
	ambient    bool // SMOLVM_MACHINE_NAME counts as --name
	clash      [][2]string
	run        func(*call) (int, error)
}

// parsed is a command line taken apart.
type parsed struct {
	values     map[string][]string
	positional []string
	trailing   []string
	help       bool
}

func (p parsed) has(name string) bool { return len(p.values[name]) > 0 }

func (p parsed) one(name string) string {
	if v := p.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// parse reads the arguments as clap does: https://docs.rs/clap
func (c *command) parse(args []string) (parsed, error) {
	p := parsed{values: map[string][]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--help" || arg == "-h":
			p.help = true
			return p, nil
		case arg == "--":
			if c.trailing == "" && len(args) > 0 {
				return p, usage(fmt.Sprintf("unexpected argument '%s' found", args[0]))
			}
			p.trailing = args
			return p, c.complete(p)
		case len(arg) > 1 && arg[0] == '-':
			var err error
			if args, err = c.flag(p, arg, args); err != nil {
				return p, err
			}
		case len(p.positional) < len(c.positional):
			p.positional = append(p.positional, arg)
		default:
			return p, usage(fmt.Sprintf("unexpected argument '%s' found", arg))
		}
	}
	return p, c.complete(p)
}

// flag reads one flag, or several short ones in one word, and returns what is left of the arguments.
func (c *command) flag(p parsed, arg string, args []string) ([]string, error) {
	unknown := func() ([]string, error) {
		return nil, usage(fmt.Sprintf("unexpected argument '%s' found", arg))
	}
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, value, given := strings.Cut(long, "=")
		o := c.option(func(o option) bool { return o.name == name || slices.Contains(o.aliases, name) })
		if o == nil {
			return unknown()
		}
		return p.take(*o, value, given, args)
	}
	for rest := arg[1:]; rest != ""; {
		o := c.option(func(o option) bool { return o.short == rest[0] })
		if o == nil {
			return unknown()
		}
		rest = rest[1:]
		value, given := strings.TrimPrefix(rest, "="), rest != ""
		if o.value == "" {
			value, given = "", false
		} else {
			rest = ""
		}
		var err error
		if args, err = p.take(*o, value, given, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (c *command) option(is func(option) bool) *option {
	for i := range c.options {
		if is(c.options[i]) {
			return &c.options[i]
		}
	}
	return nil
}

func (p parsed) take(o option, value string, given bool, args []string) ([]string, error) {
	switch {
	case o.value == "" && given:
		return nil, usage(fmt.Sprintf("unexpected value '%s' for '%s' found; no more were expected", value, o))
	case o.value == "":
		value = "true"
	case !given:
		if len(args) == 0 || (len(args[0]) > 1 && args[0][0] == '-') {
			return nil, usage(fmt.Sprintf("a value is required for '%s' but none was supplied", o))
		}
		value, args = args[0], args[1:]
	}
	if !o.many && len(p.values[o.name]) > 0 {
		return nil, usage(fmt.Sprintf("the argument '%s' cannot be used multiple times", o))
	}
	p.values[o.name] = append(p.values[o.name], value)
	return args, nil
}

// complete checks what can only be known at the end.
func (c *command) complete(p parsed) error {
	if len(p.positional) < len(c.positional) {
		return usage(fmt.Sprintf("the following required arguments were not provided:\n  <%s>", c.positional[len(p.positional)]))
	}
	if c.needs && len(p.trailing) == 0 {
		return usage(fmt.Sprintf("the following required arguments were not provided:\n  <%s>...", c.trailing))
	}
	for _, pair := range c.clash {
		if p.has(pair[0]) && p.has(pair[1]) {
			return usage(fmt.Sprintf("the argument '--%s' cannot be used with '--%s'", pair[0], pair[1]))
		}
	}
	return nil
}

func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: smolvm machine %s [OPTIONS]", c.about, c.names[0])
	for _, name := range c.positional {
		fmt.Fprintf(&b, " <%s>", name)
	}
	if c.trailing != "" {
		fmt.Fprintf(&b, " [-- <%s>...]", c.trailing)
	}
	b.WriteString("\n\nOptions:\n")
	for _, o := range c.options {
		short := "   "
		if o.short != 0 {
			short = fmt.Sprintf("-%c,", o.short)
		}
		fmt.Fprintf(&b, "  %s %s\n", short, o)
	}
	b.WriteString("  -h, --help\n")
	return b.String()
}

// number reads a value that must be a whole number from least on.
func (p parsed) number(name string, least, otherwise int) (int, error) {
	text := p.one(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, usage(fmt.Sprintf("invalid value '%s' for '--%s': a number from %d on is needed", text, name, least))
	}
	return n, nil
}

// duration reads a value as the crate humantime does; zero is refused.
func (p parsed) duration(name string) (time.Duration, error) {
	text := p.one(name)
	if text == "" {
		return 0, nil
	}
	d, ok := humantime(text)
	if !ok || d <= 0 {
		return 0, usage(fmt.Sprintf("invalid value '%s' for '--%s <DURATION>': a duration like 30s or 5m is needed", text, name))
	}
	return d, nil
}

var units = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "s": time.Second, "sec": time.Second, "secs": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "h": time.Hour, "hr": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "days": 24 * time.Hour,
}

func humantime(text string) (sum time.Duration, ok bool) {
	const digits = "0123456789"
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " ") {
		rest := strings.TrimLeft(text, digits)
		n, err := strconv.Atoi(text[:len(text)-len(rest)])
		if err != nil {
			return 0, false
		}
		end := strings.IndexAny(rest, digits+" ")
		if end < 0 {
			end = len(rest)
		}
		unit, known := units[rest[:end]]
		if !known {
			return 0, false
		}
		sum += time.Duration(n) * unit
		text = rest[end:]
	}
	return sum, sum >= 0
}
