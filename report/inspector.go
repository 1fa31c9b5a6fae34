package report

import "errors"

// inspector reads a file to its end and keeps nothing but counts, the names of suites, and those of the open test cases
// for the message about a truncated file.
type inspector struct {
	*scanner
	*source
	names  *suiteNames
	around []string // names of the suites that are open, "" for the root
	inside []string
	suites int
	before int // elements of the file before the test case that is open
}

func (i *inspector) run() error {
	for {
		t, err := i.next()
		i.source.stray = i.scanner.stray
		if err != nil {
			i.nameOpenCase(err)
			return err
		}
		switch t.kind {
		case startToken:
			if err := i.start(t); err != nil {
				return err
			}
		case endToken:
			switch t.name {
			case "testcase":
				i.inside = i.inside[:len(i.inside)-1]
			case "testsuite", "testsuites":
				i.around = i.around[:len(i.around)-1]
			}
		case endOfFile:
			return nil
		}
	}
}

func (i *inspector) nameOpenCase(err error) {
	var known *ReadError
	if errors.As(err, &known) && known.Kind == Truncated && len(i.inside) > 0 {
		known.Reason += ", in test case " + i.inside[len(i.inside)-1]
	}
}

func (i *inspector) start(t token) error {
	if t.depth == 0 && !isRoot(t.name) && !t.cut {
		return refuse(NotJUnit, t.line, "<%s> is not JUnit", cleanName(t.name))
	}
	i.count(t)
	switch {
	case i.cases > maxCases:
		return refuse(TooLarge, t.line, "more than %d test cases", maxCases)
	case i.suites > maxSuites:
		return refuse(TooLarge, t.line, "more than %d test suites", maxSuites)
	case len(i.inside) > 0 && i.elements-i.before > maxInCase:
		return refuse(TooLarge, t.line, "more than %d elements in one test case", maxInCase)
	}
	return nil
}

// count takes a failure outside of any test case for one, since it will become one.
func (i *inspector) count(t token) {
	switch t.name {
	case "testcase":
		i.inside = append(i.inside, cleanName(t.attr("name")))
		i.before = i.elements
		i.cases++
		i.mayFail = i.mayFail || t.attr("status") != ""
	case "failure", "error":
		i.mayFail = true
		if len(i.inside) == 0 {
			i.cases++
		}
	case "flakyFailure", "flakyError", "rerunFailure", "rerunError":
		i.mayFail = true
	case "testsuite", "testsuites":
		i.suites++
		i.nameSuite(t)
	}
}

// nameSuite notes the names as the builder will give them, or names that no suite will have. Cases outside of any suite
// become suites of the root's name, as often as there are others between.
func (i *inspector) nameSuite(t token) {
	name := cleanName(t.attr("name"))
	if len(i.around) > 0 {
		name = join(i.around[len(i.around)-1], name)
	}
	root := t.depth == 0 && t.name == "testsuites"
	i.names.note(name, root)
	if root {
		name = "" // it is no part of its suites' names
	}
	i.around = append(i.around, name)
}

func isRoot(name string) bool {
	return name == "testsuites" || name == "testsuite" || name == "testcase"
}
