package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// privileged are the events that start a job with the repository's secrets and a token that can write, on behalf of
// anybody who can open a pull request or write a comment.
var privileged = map[string]bool{"pull_request_target": true, "workflow_run": true, "issue_comment": true}

// aboutPulls are the events whose file holds the pull request that is tested.
var aboutPulls = map[string]bool{"pull_request": true, "pull_request_review": true, "pull_request_review_comment": true}

func gitHub(getenv func(string) string) Change {
	event := getenv("GITHUB_EVENT_NAME")
	switch {
	case privileged[event]:
		return Change{Untrusted: "the event " + event + " runs with the repository's secrets, whoever made the change", Event: event}
	case !aboutPulls[event]:
		return Change{}
	}
	pull, err := readEvent(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return unclear(fmt.Sprintf("nothing tells whether a fork's change is tested: the event file (GITHUB_EVENT_PATH) %s", err))
	}
	return pull.judge()
}

// pullRequest is what an event file says of one. The head is empty when the fork has been deleted.
type pullRequest struct {
	Head, Base struct {
		Repo repository
	}
}

type repository struct {
	ID   int64
	Name string `json:"full_name"`
}

func (p pullRequest) judge() Change {
	head, base := p.Head.Repo, p.Base.Repo
	switch {
	case base.ID == 0 && base.Name == "":
		return unclear("nothing tells whether a fork's change is tested: the event file (GITHUB_EVENT_PATH) names no repository that the pull request is for")
	case head.ID == 0 && head.Name == "":
		return Change{Untrusted: "the change comes from a fork that is not there any more"}
	case head.same(base):
		return Change{}
	}
	return Change{Untrusted: "the change comes from the fork " + head.shown()}
}

// same goes by the number, which stays when a repository is renamed, and by the name only where a number is missing.
func (r repository) same(o repository) bool {
	if r.ID != 0 && o.ID != 0 {
		return r.ID == o.ID
	}
	return r.Name != "" && strings.EqualFold(r.Name, o.Name)
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

// shown is a name that can be printed anywhere: it comes from outside.
func (r repository) shown() string {
	if repositoryName.MatchString(r.Name) {
		return r.Name
	}
	return fmt.Sprintf("with the number %d", r.ID)
}

// maxEvent is more than GitHub sends.
const maxEvent = 32 << 20

func readEvent(path string) (pullRequest, error) {
	if path == "" {
		return pullRequest{}, errors.New("is not named")
	}
	info, err := os.Stat(path) // before it is opened: opening a named pipe would wait for a writer
	if err != nil {
		return pullRequest{}, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if !info.Mode().IsRegular() {
		return pullRequest{}, errors.New("is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return pullRequest{}, fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return pullRequest{}, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if len(b) > maxEvent {
		return pullRequest{}, fmt.Errorf("is larger than %d bytes", maxEvent)
	}
	var event struct {
		PullRequest *pullRequest `json:"pull_request"`
	}
	if err := json.Unmarshal(b, &event); err != nil {
		return pullRequest{}, errors.New("is broken: it is no JSON of a pull request")
	}
	if event.PullRequest == nil {
		return pullRequest{}, errors.New("holds no pull request")
	}
	return *event.PullRequest, nil
}

// bare leaves out the path, which is of no interest to who reads this.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
