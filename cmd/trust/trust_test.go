package trust

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// of judges by the given variables, NAME=value.
func of(variables ...string) Change {
	return Of(func(name string) string {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	})
}

// event is a job on GitHub with an event file of testdata.
func event(name, file string) []string {
	return []string{"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=" + name, "GITHUB_EVENT_PATH=" + filepath.Join("testdata", "github", file)}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ event, file, want string }{
		{"pull_request", "pull_request_own.json", ""},
		{"pull_request", "pull_request_renamed.json", ""},
		{"pull_request", "pull_request_own_of_fork.json", ""},
		{"pull_request", "pull_request_fork.json", "the change comes from the fork someone/shop"},
		{"pull_request", "pull_request_same_name.json", "the change comes from the fork acme/shop"},
		{"pull_request", "pull_request_fork_deleted.json", "the change comes from a fork that is not there any more"},
		{"pull_request_review", "pull_request_review_fork.json", "the change comes from the fork someone/shop"},
		{"pull_request_review_comment", "pull_request_own.json", ""},
		{"push", "push.json", ""},
		{"merge_group", "merge_group.json", ""},
		{"schedule", "none.json", ""},
	} {
		t.Run(c.event+" "+c.file, func(t *testing.T) {
			t.Parallel()
			if got := of(event(c.event, c.file)...); got != (Change{Untrusted: c.want}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEventsWithSecretsAreNeverTrusted(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"pull_request_target_own.json", "pull_request_target_fork.json", "issue_comment.json", "workflow_run.json", "none.json"} {
		for _, name := range []string{"pull_request_target", "issue_comment", "workflow_run"} {
			got := of(event(name, file)...)
			if got.Event != name || got.Unclear || got.Untrusted != "the event "+name+" runs with the repository's secrets, whoever made the change" {
				t.Errorf("%s with %s: %+v", name, file, got)
			}
		}
	}
}

func TestWhatIsUnclearIsNotTrusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	place := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	huge := place("huge", "{}")
	if err := os.Truncate(huge, maxEvent+1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"", "is not named"},
		{filepath.Join(dir, "none"), "cannot be read: no such file or directory"},
		{dir, "is no regular file"},
		{filepath.Join(dir, "pipe"), "is no regular file"},
		{huge, "is larger than"},
		{place("empty", ""), "is broken"},
		{filepath.Join("testdata", "github", "pull_request_cut_off.json"), "is broken"},
		{place("list", "[]"), "is broken"},
		{place("text", `{"pull_request": "x"}`), "is broken"},
		{place("nothing", `{}`), "holds no pull request"},
		{place("null", `{"pull_request": null}`), "holds no pull request"},
		{place("bare", `{"pull_request": {}}`), "names no repository"},
		{place("twice", `{"pull_request": {}} {}`), "is broken"},
		{filepath.Join("testdata", "github", "push.json"), "holds no pull request"},
	} {
		got := of("GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH="+c.path)
		if !got.Unclear || !strings.Contains(got.Untrusted, c.want) || strings.Contains(got.Untrusted, dir) {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
}

// A name is printed, on GitHub into a log that takes commands; one that is no name is not.
func TestNamesFromOutside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "event")
	text := `{"pull_request": {"head": {"repo": {"id": 5, "full_name": "a/b\n::error::x"}}, "base": {"repo": {"id": 6, "full_name": "a/c"}}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := of("GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH="+path)
	if got.Untrusted != "the change comes from the fork with the number 5" {
		t.Errorf("%+v", got)
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b repository
		want bool
	}{
		{repository{1, "a/b"}, repository{1, "a/c"}, true},
		{repository{1, "a/b"}, repository{2, "a/b"}, false},
		{repository{0, "A/b"}, repository{2, "a/B"}, true},
		{repository{0, "a/b"}, repository{0, "a/c"}, false},
		{repository{1, ""}, repository{0, ""}, false},
	} {
		if got := c.a.same(c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

func TestGitLab(t *testing.T) {
	t.Parallel()
	const (
		from, to       = "CI_MERGE_REQUEST_SOURCE_PROJECT_ID=", "CI_MERGE_REQUEST_PROJECT_ID="
		path, pipeline = "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH=", "CI_PIPELINE_SOURCE="
		outer, inner   = "CI_EXTERNAL_PULL_REQUEST_SOURCE_REPOSITORY=", "CI_EXTERNAL_PULL_REQUEST_TARGET_REPOSITORY="
	)
	for _, c := range []struct {
		name      string
		variables []string
		want      Change
	}{
		{"a push", []string{pipeline + "push"}, Change{}},
		{"its own branch", []string{pipeline + "merge_request_event", from + "7", to + "7", path + "acme/shop"}, Change{}},
		{"a fork", []string{pipeline + "merge_request_event", from + "8", to + "7", path + "some/group/shop"},
			Change{Untrusted: "the change comes from the fork some/group/shop"}},
		{"a fork without a path", []string{from + "8", to + "7"}, Change{Untrusted: "the change comes from the fork 8"}},
		{"a request without its projects", []string{pipeline + "merge_request_event"},
			Change{Unclear: true, Untrusted: "nothing tells whether a fork's change is tested: CI_MERGE_REQUEST_SOURCE_PROJECT_ID and CI_MERGE_REQUEST_PROJECT_ID are not both set"}},
		{"a request without its target", []string{from + "7", path + "acme/shop"},
			Change{Unclear: true, Untrusted: "nothing tells whether a fork's change is tested: CI_MERGE_REQUEST_SOURCE_PROJECT_ID and CI_MERGE_REQUEST_PROJECT_ID are not both set"}},
		{"another host's own branch", []string{pipeline + "external_pull_request_event", outer + "acme/shop", inner + "Acme/shop"}, Change{}},
		{"another host's fork", []string{pipeline + "external_pull_request_event", outer + "some/shop", inner + "acme/shop"},
			Change{Untrusted: "the change comes from the fork some/shop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := of(append([]string{"GITLAB_CI=true"}, c.variables...)...); got != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestOutsideOfTheseSystems(t *testing.T) {
	t.Parallel()
	for _, variables := range [][]string{
		nil,
		{"GITHUB_EVENT_NAME=pull_request_target"},
		{"GITHUB_ACTIONS=false", "GITHUB_EVENT_NAME=pull_request"},
		{"GITLAB_CI=false", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID=1", "CI_MERGE_REQUEST_PROJECT_ID=2"},
	} {
		if got := of(variables...); got != (Change{}) {
			t.Errorf("%v: %+v", variables, got)
		}
	}
}
