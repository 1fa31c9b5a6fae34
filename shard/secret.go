package shard

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
)

const mask = "***"

// reportWords are what a JUnit report is built of. A secret that is a part of one is left in reports, which could not
// be read without; nobody learns a thing from it there.
const reportWords = "testsuites testsuite testcase failure error skipped flakyFailure flakyError rerunFailure rerunError " +
	"properties property system-out system-err stackTrace classname message hostname timestamp assertions disabled " +
	"failures errors tests version encoding ISO-8859-15 UTF-16 windows-1252 status result CDATA"

// redactor replaces secrets in a stream, however it is cut into pieces. What might be the start of a secret waits for
// the next piece; nothing else does.
type redactor struct {
	secrets [][]byte
	starts  [256]bool // bytes that a secret starts with
	held    []byte
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, s := range secrets {
		if s != "" {
			r.secrets = append(r.secrets, []byte(s))
			r.starts[s[0]] = true
		}
	}
	return r
}

// pass gives what of the stream may be shown by now; after the last piece, all the rest.
func (r *redactor) pass(p []byte, last bool) []byte {
	if len(r.secrets) == 0 {
		return p
	}
	in := append(r.held, p...)
	out := make([]byte, 0, len(in))
	r.held = nil
	for len(in) > 0 {
		if !r.starts[in[0]] {
			out, in = append(out, in[0]), in[1:]
			continue
		}
		length, open := r.at(in)
		switch {
		case open && !last:
			r.held = bytes.Clone(in)
			return out
		case length > 0:
			out, in = append(out, maskFor(in)...), in[length:]
		default:
			out, in = append(out, in[0]), in[1:]
		}
	}
	return out
}

// maskFor is the mask in the encoding of the secret that the text starts with: half a character would make a report in
// UTF-16 unreadable from there on.
func maskFor(secret []byte) string {
	switch {
	case secret[0] == 0:
		return "\x00*\x00*\x00*"
	case len(secret) > 1 && secret[1] == 0:
		return "*\x00*\x00*\x00"
	}
	return mask
}

// at is the length of the longest secret that the text starts with; open says that a longer one may.
func (r *redactor) at(text []byte) (length int, open bool) {
	for _, s := range r.secrets {
		switch {
		case bytes.HasPrefix(text, s):
			length = max(length, len(s))
		case len(text) < len(s) && bytes.HasPrefix(s, text):
			open = true
		}
	}
	return length, open
}

// inReports are the secrets as a report may hold them: as they are, and with what XML writes otherwise.
func inReports(secrets []string) []string {
	some := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	all := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	numbers := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
	attribute := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	var out []string
	for _, s := range secrets {
		if !strings.Contains(reportWords, s) {
			out = append(out, s, some.Replace(s), all.Replace(s), numbers.Replace(s), attribute.Replace(s))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for _, s := range slices.Clone(out) {
		if ascii(s) {
			out = append(out, wide(s, "", "\x00"), wide(s, "\x00", ""))
		}
	}
	return out
}

func ascii(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }

// wide is a text in UTF-16, which runners on their way from Windows write: each character with a zero before or behind.
func wide(s, before, behind string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(before + s[i:i+1] + behind)
	}
	return b.String()
}

// longestFirst leaves out empty ones. Of secrets that contain each other, the longer one goes first.
func longestFirst(secrets []string) []string {
	out := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// redactFile takes the secrets out of a collected report, by way of a file beside it.
func redactFile(dir *os.Root, name string, secrets []string) error {
	r := newRedactor(inReports(secrets))
	if len(r.secrets) == 0 {
		return nil
	}
	in, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	temp := path.Join(path.Dir(name), fmt.Sprintf(".boxer-%d.tmp", rand.Uint64()))
	out, err := dir.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = r.copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return dir.Rename(temp, name)
	}
	dir.Remove(temp)
	return err
}

func (r *redactor) copy(to io.Writer, from io.Reader) error {
	chunk := make([]byte, chunkSize)
	for {
		n, err := from.Read(chunk)
		if _, failed := to.Write(r.pass(chunk[:n], err != nil)); failed != nil {
			return failed
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
