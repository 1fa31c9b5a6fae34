//go:build linux

package gvisor

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// commonGitDir finds the git folder that a linked worktree shares with its main one; "" where .git is a folder of
// the worktree's own, or there is none.
// https://git-scm.com/docs/gitrepository-layout (commondir)
func commonGitDir(worktree string) (string, error) {
	dot := filepath.Join(worktree, ".git")
	info, err := os.Lstat(dot)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.IsDir()) {
		return "", nil
	}
	text, err := os.ReadFile(dot)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", nil
	}
	dir = resolve(worktree, dir)
	if common, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dir = resolve(dir, strings.TrimSpace(string(common)))
	}
	if _, err := os.Stat(dir); err != nil {
		return "", nil // a broken worktree is the user's to mend
	}
	return filepath.EvalSymlinks(dir)
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

var (
	secretKey  = regexp.MustCompile(`(?i)^\s*(extraheader|password|smtppass|passwd|token|cookiefile|sslkey|helper)\b`)
	section    = regexp.MustCompile(`^\s*\[`)
	credential = regexp.MustCompile(`(?i)^\s*\[\s*credential\b`)
	userInfo   = regexp.MustCompile(`://[^/@\s"]+@`)
)

// withoutCredentials copies a git configuration less what could log in somewhere: credential sections, headers,
// passwords, and the user part of addresses.
func withoutCredentials(config []byte) []byte {
	var out bytes.Buffer
	skip := false
	for line := range bytes.Lines(config) {
		if section.Match(line) {
			skip = credential.Match(line)
		}
		if skip || secretKey.Match(line) {
			continue
		}
		out.Write(userInfo.ReplaceAll(line, []byte("://")))
	}
	return out.Bytes()
}
