package ci

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

var outputName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// WriteOutputs appends the step's outputs to the file of GITHUB_OUTPUT: counts and paths only. Texts of tests would
// make the runner drop them where they hold a secret, and could break the file.
func WriteOutputs(path string, r Run) error {
	efficiency := ""
	if r.Efficiency > 0 {
		efficiency = strconv.FormatFloat(r.Efficiency, 'f', 2, 64)
	}
	return appendOutputs(path, [][2]string{
		{"report", r.Report}, {"html", r.HTML}, {"json", r.JSON},
		{"tests", strconv.Itoa(r.Totals.Tests)}, {"failures", strconv.Itoa(r.Totals.Failures)},
		{"flaky", strconv.Itoa(r.Totals.Flaky)}, {"exit-code", strconv.Itoa(r.ExitCode)}, {"efficiency", efficiency},
		{"timings-complete", strconv.FormatBool(r.Complete)},
	})
}

// WriteExitCode is WriteOutputs for a run that ended before there was anything else to tell.
func WriteExitCode(path string, code int) error {
	return appendOutputs(path, [][2]string{{"exit-code", strconv.Itoa(code)}})
}

func appendOutputs(path string, pairs [][2]string) error {
	var b strings.Builder
	for _, p := range pairs {
		text, err := output(p[0], p[1], "ghadelimiter_"+NewToken())
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	return appendTo(path, b.String())
}

// output is one entry. A value that holds the delimiter, or bytes that the runner would not read back, fails the step
// or sets another output: it is refused.
func output(name, value, delimiter string) (string, error) {
	switch {
	case !outputName.MatchString(name):
		return "", fmt.Errorf("%q is no name of an output", name)
	case strings.Contains(value, delimiter):
		return "", fmt.Errorf("the output %s holds its own delimiter", name)
	case strings.ContainsAny(value, "\x00\r"):
		return "", fmt.Errorf("the output %s holds a control character", name)
	case strings.ToValidUTF8(value, "") != value:
		return "", fmt.Errorf("the output %s is no UTF-8", name)
	}
	return fmt.Sprintf("%s<<%s\n%s\n%s\n", name, delimiter, value, delimiter), nil
}

// appendTo adds to a file that other programs of the step write to as well. It starts a line of its own.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			text = "\n" + text
		}
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
