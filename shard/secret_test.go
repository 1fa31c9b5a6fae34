package shard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	secrets := []string{"hunter2", "hunter2-and-more", "", "aab"}
	for in, want := range map[string]string{
		"":                        "",
		"nothing here":            "nothing here",
		"hunter2":                 "***",
		"xhunter2y hunter2":       "x***y ***",
		"hunter2-and-more!":       "***!",
		"hunter2-and-mor!":        "***-and-mor!",
		"hunterhunter2":           "hunter***",
		"aaab aaaab":              "a*** aa***",
		"hunter":                  "hunter",
		"two\nlines hunter2\nend": "two\nlines ***\nend",
	} {
		for i := range len(in) + 1 {
			r := newRedactor(secrets)
			got := string(r.pass([]byte(in[:i]), false)) + string(r.pass([]byte(in[i:]), false)) + string(r.pass(nil, true))
			if got != want {
				t.Errorf("%q, cut at %d: %q, want %q", in, i, got, want)
			}
		}
	}
}

func TestRedactorHoldsNothingBackWithoutNeed(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"hunter2"})
	if got := string(r.pass([]byte("ready\n"), false)); got != "ready\n" {
		t.Errorf("%q", got)
	}
	if got := string(r.pass([]byte("he hun"), false)); got != "he " {
		t.Errorf("%q", got)
	}
}

func TestSecretsStandInNoLogAndNoReport(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.shell(2, `echo "the key is $API_KEY"; mkdir -p r; `+
		`printf '<testsuite name="s"><testcase name="t<i>"><failure message="a&lt;b&amp;c3 and %s"/></testcase></testsuite>' "$API_KEY" > r/r.xml; exit 1`)
	o.Env = append(o.Env, "API_KEY=sk-12345678", "OTHER_SECRET=a<b&c3", "A_KEY=testcase")
	o.Secrets = []string{"sk-12345678", "a<b&c3", "testcase"}
	o.JUnit = []string{"r/*.xml"}
	var out screenOf
	o.Out = &out
	res, err := Run(t.Context(), forking{m}, o)
	check(t, res, err, 1, Failed, Failed)
	if log := contents(t, res.ReportDir, "shard-1.log"); log != "the key is ***\n" {
		t.Errorf("log %q", log)
	}
	if !strings.Contains(out.String(), "*** and ***") {
		t.Errorf("the message is gone:\n%s", out.String())
	}
	filepath.WalkDir(res.ReportDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, secret := range []string{"sk-12345678", "a<b&c3", "a&lt;b&amp;c3", `a\u003cb\u0026c3`} {
			if strings.Contains(contents(t, path), secret) || strings.Contains(out.String(), secret) {
				t.Errorf("%s or the screen shows %s", path, secret)
			}
		}
		return nil
	})
}

// Half a character in place of a secret would leave nothing of a report in UTF-16.
func TestRedactorKeepsUTF16Whole(t *testing.T) {
	t.Parallel()
	for name, zeros := range map[string][2]string{"little": {"", "\x00"}, "big": {"\x00", ""}} {
		in, want := wide("<a>sk-&amp;1</a>", zeros[0], zeros[1]), wide("<a>***</a>", zeros[0], zeros[1])
		for i := range len(in) + 1 {
			r := newRedactor(inReports([]string{"sk-&1"}))
			got := string(r.pass([]byte(in[:i]), false)) + string(r.pass([]byte(in[i:]), false)) + string(r.pass(nil, true))
			if got != want {
				t.Errorf("%s endian, cut at %d: %q, want %q", name, i, got, want)
			}
		}
	}
}
