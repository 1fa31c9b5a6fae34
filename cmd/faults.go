package cmd

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/boxer-ci/boxer/cmd/config"
)

// sift finds the command that args mean, and takes flags that it does not have out of them, onto the list of faults:
// so that what else is wrong with the call can still be found. The returned args are for cobra.
func (d deps) sift(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__") {
		return args, nil // the shell asks for completions
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return nil, d.unknownCommand(root, args)
	}
	d.call.command = strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), root.Name()))
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	kept := strings.Fields(d.call.command)
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		if arg == "--" || !strings.HasPrefix(arg, "-") || arg == "-" {
			if arg == "--" || !interspersed(c) {
				kept = append(kept, rest[i:]...)
				break
			}
			kept = append(kept, arg)
			continue
		}
		flag, hasValue := flagOf(c, arg)
		if flag == nil {
			near := nearestFlag(c, arg)
			fault(&d.call.faults, "", "unknown flag %s%s", strings.SplitN(arg, "=", 2)[0], didYouMean(near))
			if near != nil && takesNext(near, hasValue) {
				i++
			}
			continue
		}
		kept = append(kept, arg)
		if takesNext(flag, hasValue) && i+1 < len(rest) {
			i++
			kept = append(kept, rest[i])
		}
	}
	return kept, nil
}

// interspersed tells whether flags may follow arguments, by a mark that takesCommand leaves.
func interspersed(c *cobra.Command) bool { return c.Annotations["command"] == "" }

// takesCommand makes everything after the first word or -- the user's own, dashes and further -- included.
func takesCommand(c *cobra.Command) {
	c.Flags().SetInterspersed(false)
	c.Annotations = map[string]string{"command": "true"}
}

// flagOf looks up what arg names. Of several short flags in one word, the last may take the value.
func flagOf(c *cobra.Command, arg string) (flag *pflag.Flag, hasValue bool) {
	name, _, hasValue := strings.Cut(arg, "=")
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return c.Flag(long), hasValue
	}
	short := name[1:2]
	find := func(set *pflag.FlagSet) *pflag.Flag { return set.ShorthandLookup(short) }
	if flag = find(c.Flags()); flag == nil {
		flag = find(c.InheritedFlags())
	}
	return flag, hasValue || len(name) > 2
}

func takesNext(f *pflag.Flag, hasValue bool) bool { return f.NoOptDefVal == "" && !hasValue }

func nearestFlag(c *cobra.Command, arg string) *pflag.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return c.Flag(config.Nearest(name, names))
}

func didYouMean(f *pflag.Flag) string {
	if f == nil {
		return ""
	}
	return ", did you mean --" + f.Name + "?"
}

func (d deps) unknownCommand(root *cobra.Command, args []string) error {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	word := firstWord(root, args)
	return config.Faults{{What: "unknown command " + word + config.Meant(word, names)}}
}

// firstWord is the first argument that is neither a flag nor a flag's value.
func firstWord(c *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
		if flag, hasValue := flagOf(c, args[i]); flag != nil && takesNext(flag, hasValue) {
			i++
		}
	}
	return strings.Join(args, " ")
}
