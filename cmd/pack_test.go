package cmd_test

import (
	"archive/tar"
	"runtime"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/pack"
)

// forge FILE [KEY=VALUE...] ENTRY... makes a pack that boxer would not make. Keys are arch, schema, name, backend and worktree; an
// entry is KIND:NAME or KIND:NAME=TEXT, of the kinds dir, file, link, symlink, gone and opaque. within:FOLDER makes all
// folders down to that one, and names that begin with a dot lie in it.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: forge FILE [KEY=VALUE...] ENTRY...")
	}
	s, err := runner.ScopeOf(ts.MkAbs("."))
	ts.Check(err)
	m := pack.Manifest{
		Name: "forged", Boxer: "9.9.9", OS: runtime.GOOS, Arch: runtime.GOARCH, Backend: "gvisor", Of: "elsewhere",
		Config: pack.ConfigOf(runner.Spec{Dir: s.Worktree}, s.Worktree),
	}
	w, err := pack.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer w.Abort()
	t := tar.NewWriter(w)
	within := ""
	for _, arg := range args[1:] {
		if kind, rest, ok := strings.Cut(arg, ":"); ok {
			if kind == "within" {
				within = "root" + ts.MkAbs(rest)
				for i, c := range within {
					if c == '/' {
						ts.Check(forgeEntry(t, "dir", within[:i+1]))
					}
				}
				kind, rest = "dir", within+"/"
			} else if strings.HasPrefix(rest, "./") {
				rest = within + rest[1:]
			}
			ts.Check(forgeEntry(t, kind, rest))
			continue
		}
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "arch":
			m.Arch = value
		case "name":
			m.Name = value
		case "backend":
			m.Backend = value
		case "schema":
			m.Schema, err = strconv.Atoi(value)
			ts.Check(err)
		case "worktree":
			m.Worktree = &runner.PackCount{}
		default:
			ts.Fatalf("no key %q", key)
		}
	}
	ts.Check(t.Close())
	_, err = w.Commit(m, true)
	ts.Check(err)
}

func forgeEntry(t *tar.Writer, kind, rest string) error {
	name, text, _ := strings.Cut(rest, "=")
	h := &tar.Header{Name: name, Mode: 0o755, Typeflag: map[string]byte{
		"dir": tar.TypeDir, "opaque": tar.TypeDir, "file": tar.TypeReg, "link": tar.TypeLink, "symlink": tar.TypeSymlink, "gone": tar.TypeChar,
	}[kind]}
	switch kind {
	case "file":
		h.Size = int64(len(text))
	case "opaque":
		h.PAXRecords = map[string]string{pack.Opaque: "y"}
	default:
		h.Linkname, text = text, ""
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write([]byte(text))
	return err
}
