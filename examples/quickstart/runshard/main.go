// Command runshard runs one shard of a Go test binary and reports it as JUnit.
//
//	runshard SHARD TOTAL BINARY REPORT
//
// Shard 2 of 4 is every fourth test, from the second on, in the binary's order.
// The test binary's output and exit code are passed on.
package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("runshard: ")
	if len(os.Args) != 5 {
		log.Fatal("usage: runshard SHARD TOTAL BINARY REPORT")
	}
	shard, err1 := strconv.Atoi(os.Args[1])
	total, err2 := strconv.Atoi(os.Args[2])
	if err1 != nil || err2 != nil || shard < 1 || shard > total {
		log.Fatalf("there is no shard %s of %s", os.Args[1], os.Args[2])
	}
	binary, report := os.Args[3], os.Args[4]

	tests, err := list(binary, shard, total)
	if err != nil {
		log.Fatal(err)
	}
	output, code, err := run(binary, tests)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(report, parse(output, tests)); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

func list(binary string, shard, total int) (mine []string, err error) {
	out, err := exec.Command(binary, "-test.list", "^Test").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", binary, err)
	}
	for i, name := range strings.Fields(string(out)) {
		if i%total == shard-1 {
			mine = append(mine, name)
		}
	}
	return mine, nil
}

// run starts the binary even if tests is empty: the pattern then matches none.
func run(binary string, tests []string) (output string, code int, err error) {
	var buf bytes.Buffer
	c := exec.Command(binary, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	c.Stdout = io.MultiWriter(os.Stdout, &buf)
	c.Stderr = c.Stdout
	err = c.Run()
	if c.ProcessState == nil {
		return "", 0, err
	}
	if code = c.ProcessState.ExitCode(); code < 0 { // ended by a signal
		code = 1
	}
	return buf.String(), code, nil
}

type suite struct {
	XMLName xml.Name   `xml:"testsuite"`
	Name    string     `xml:"name,attr"`
	Tests   int        `xml:"tests,attr"`
	Cases   []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Seconds string    `xml:"time,attr"`
	Failure *failure  `xml:"failure"`
	Skipped *struct{} `xml:"skipped"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Output  string `xml:",chardata"`
}

// parse finds each test's verdict, a line such as "--- PASS: TestShip (0.25s)".
// What was printed since the verdict before it is the test's output. A test
// without a verdict took the binary down with it, and failed.
func parse(output string, tests []string) suite {
	s := suite{Name: "stock", Tests: len(tests)}
	missing := map[string]bool{}
	for _, name := range tests {
		missing[name] = true
	}
	var said strings.Builder
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) != 4 || !strings.HasPrefix(line, "--- ") {
			said.WriteString(line)
			continue
		}
		c := testCase{Class: s.Name, Name: words[2], Seconds: strings.Trim(words[3], "(s)")}
		switch words[1] {
		case "FAIL:":
			c.Failure = &failure{"failed", said.String()}
		case "SKIP:":
			c.Skipped = &struct{}{}
		}
		s.Cases = append(s.Cases, c)
		delete(missing, c.Name)
		said.Reset()
	}
	for _, name := range tests {
		if missing[name] {
			s.Cases = append(s.Cases, testCase{Class: s.Name, Name: name, Seconds: "0", Failure: &failure{"did not finish", said.String()}})
		}
	}
	return s
}

func write(path string, s suite) error {
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
