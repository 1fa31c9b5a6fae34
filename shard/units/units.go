// Package units makes the list of what is dealt to the children: it reads lists, looks for files, gives each unit the
// key under which timings and reports know it, and keeps the words of a command within what the kernel takes.
//
// It only looks at files, and runs and writes nothing. A unit has two names because two readers differ: the command
// wants the word that was listed, while a timings file must find one file again however a list or a report spells it.
package units

// Unit is one entry of a test list: a file, a package, or whatever else the command takes.
type Unit struct {
	Name string // as the command gets it
	Key  string // relative to the repository root, with slashes and without "./": for timings and reports
}

// Make gives the units of a list of names that are meant from base, a folder of the repository at root. A name whose
// key an earlier one has is left out, since it would run the same tests again.
func Make(names []string, base, root string) []Unit {
	units := make([]Unit, 0, len(names))
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		key := Normalise(name, base, root)
		if !seen[key] {
			seen[key] = true
			units = append(units, Unit{Name: name, Key: key})
		}
	}
	return units
}
