package config

import (
	"reflect"
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	caller := []string{
		"PATH=/bin", "HOME=/home/me", "LC_ALL=C", "SECRET=x", "APP_URL=u", "APP_TOKEN=t", "DUP=1", "DUP=2",
		"GITHUB_TOKEN=g", "GITHUB_OUTPUT=/f", "GITHUB_SHA=s", "ACTIONS_RUNTIME_TOKEN=a", "CI_JOB_TOKEN=c",
		"CI_COMMIT_SHA=h", "CI_REPOSITORY_URL=https://u:p@h",
	}
	for _, c := range []struct {
		name     string
		entries  []string
		env      []string
		withheld []string
	}{
		{"basics only", nil,
			[]string{"HOME=/home/me", "LC_ALL=C", "PATH=/bin"},
			[]string{"ACTIONS_RUNTIME_TOKEN", "APP_TOKEN", "APP_URL", "CI_COMMIT_SHA", "CI_JOB_TOKEN", "CI_REPOSITORY_URL", "DUP", "GITHUB_OUTPUT", "GITHUB_SHA", "GITHUB_TOKEN", "SECRET"}},
		{"name, value, prefix", []string{"SECRET", "NEW=a=b", "APP_*", "DUP", "HOME=/tmp"},
			[]string{"APP_TOKEN=t", "APP_URL=u", "DUP=2", "HOME=/tmp", "LC_ALL=C", "NEW=a=b", "PATH=/bin", "SECRET=x"},
			[]string{"ACTIONS_RUNTIME_TOKEN", "CI_COMMIT_SHA", "CI_JOB_TOKEN", "CI_REPOSITORY_URL", "GITHUB_OUTPUT", "GITHUB_SHA", "GITHUB_TOKEN"}},
		{"tokens never, however named", []string{"GITHUB_*", "GITHUB_TOKEN", "GITHUB_TOKEN=x", "ACTIONS_*", "ACTIONS_RUNTIME_TOKEN", "CI_*", "GITHUB_OUTPUT"},
			[]string{"CI_COMMIT_SHA=h", "GITHUB_SHA=s", "HOME=/home/me", "LC_ALL=C", "PATH=/bin"},
			[]string{"ACTIONS_RUNTIME_TOKEN", "APP_TOKEN", "APP_URL", "CI_JOB_TOKEN", "CI_REPOSITORY_URL", "DUP", "GITHUB_OUTPUT", "GITHUB_TOKEN", "SECRET"}},
		{"a name that is not set", []string{"NOWHERE"},
			[]string{"HOME=/home/me", "LC_ALL=C", "PATH=/bin"}, nil},
	} {
		env, withheld := Environment(caller, c.entries)
		if !slices.Equal(env, c.env) {
			t.Errorf("%s: env\n got %q\nwant %q", c.name, env, c.env)
		}
		if c.withheld != nil && !slices.Equal(withheld, c.withheld) {
			t.Errorf("%s: withheld\n got %q\nwant %q", c.name, withheld, c.withheld)
		}
	}
}

func TestEnvEntries(t *testing.T) {
	t.Parallel()
	for entry, good := range map[string]bool{
		"A": true, "A=": true, "A=b c": true, "A_*": true, "_a1": true, "A=*": true,
		"": false, "=a": false, "*": false, "A*=b": false, "1A": false, "A B": false, "A-B": false, "A*B": false,
		"GITHUB_TOKEN": false, "GITHUB_TOKEN=x": false, "ACTIONS_X": false, "CI_JOB_TOKEN": false, "GITHUB_STEP_SUMMARY": false, "GITHUB_*": true,
	} {
		if err := checkEnv(entry); (err == nil) != good {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestMasker(t *testing.T) {
	t.Parallel()
	m := NewMasker("MY_TOKEN=abcdef", "api_key=abcdefghi", "DB_PASSWORD=short", "HOME=/home/me", "SSH_KEY=line-one\nline-two\n")
	for in, want := range map[string]string{
		"abcdefghi":          "***",
		"x abcdef y":         "x *** y",
		"short":              "short",
		"/home/me":           "/home/me",
		"a line-two b":       "a *** b",
		"line-one\nline-two": "***\n***",
	} {
		if got := m.Mask(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := (Masker{}).Mask("abc"); got != "abc" {
		t.Errorf("zero value: %q", got)
	}
}

func TestSecretsGoLongestFirst(t *testing.T) {
	t.Parallel()
	got := Secrets([]string{"A_TOKEN=aaaaaa", "B_TOKEN=aaaaaabbb"})
	if !reflect.DeepEqual(got, []string{"aaaaaabbb", "aaaaaa"}) {
		t.Errorf("got %q", got)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"count", "command", "junit", "env", "setup"}
	for word, want := range map[string]string{"cuont": "count", "comand": "command", "jnuit": "junit", "en": "env", "zzz": "", "": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
