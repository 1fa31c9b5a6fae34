package ci

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/boxer-ci/boxer/report/text"
)

// JobLogLimit is how much output goes into a job's log before the rest is left to the files: GitLab ends a log at
// 4 MiB, and what stands behind that is lost, the verdict first.
const JobLogLimit = 3 << 20

// Limit is how many bytes of output the system's log should get; 0 is no limit.
func (s System) Limit() int {
	if s == GitLab {
		return JobLogLimit
	}
	return 0
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// Open starts a part of the log that is folded up. Parts do not nest on GitHub: close one before the next.
func (s System) Open(name, title string, at time.Time) string {
	title = text.Plain(title)
	switch s {
	case GitHub:
		return "::group::" + data(title) + "\n"
	case GitLab:
		return fmt.Sprintf("\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0K%s\n", at.Unix(), section(name), title)
	}
	return ""
}

// Close ends the part.
func (s System) Close(name string, at time.Time) string {
	switch s {
	case GitHub:
		return "::endgroup::\n"
	case GitLab:
		return fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", at.Unix(), section(name))
	}
	return ""
}

func section(name string) string {
	return "boxer_" + strings.Trim(notInNames.ReplaceAllString(name, "_"), "_")
}

// Fence is what stands before and behind text that must not be read as commands. The text must not know the token.
func (s System) Fence(token string) (before, behind string) {
	if s != GitHub {
		return "", ""
	}
	return "::stop-commands::" + token + "\n", "::" + token + "::\n"
}
