package cmd

import (
	"strings"

	"github.com/spf13/pflag"
)

// setting adds a flag that is one of package config's settings: what is typed is handed on as it is, and checked there
// together with the file and the variables.
func (d deps) setting(f *pflag.FlagSet, name, help string) *pflag.Flag {
	return f.VarPF(&settingFlag{name: name, into: d.call.flags}, name, "", help)
}

// switchSetting is a setting that needs no value: --keep is --keep=true.
func (d deps) switchSetting(f *pflag.FlagSet, name, help string) {
	d.setting(f, name, help).NoOptDefVal = "true"
}

type settingFlag struct {
	name string
	into map[string][]string
}

func (s *settingFlag) Set(v string) error {
	s.into[s.name] = append(s.into[s.name], v)
	return nil
}

func (s *settingFlag) String() string { return strings.Join(s.into[s.name], " ") }

func (s *settingFlag) Type() string { return "" }

// answers adds --json to a command that prints an answer.
func (d deps) answers(f *pflag.FlagSet) {
	f.BoolVar(&d.call.json, "json", false, "print the answer as one JSON document")
}
