// Package trust tells whether what is tested may have been written by a stranger, as the CI system says.
//
// It reads variables through the function it is given, and the one event file that GitHub's variables name. It judges
// where a change comes from and nothing else: what a boxer.yaml in such a change may still say is for package config.
//
// The choice a reader would question: what cannot be found out counts as a stranger's. An event file that is missing,
// cut off or of another form is what somebody would make who wants to be taken for somebody else.
package trust

// Change is where the code under test comes from.
type Change struct {
	Untrusted string // why it may be a stranger's, as the end of a sentence; "" is the repository's own, or no CI
	Unclear   bool   // Untrusted because the CI system does not tell
	Event     string // set under an event that runs with the repository's secrets whoever made the change
}

// Of judges by a CI job's variables. Systems other than GitHub and GitLab say nothing that is looked at.
func Of(getenv func(string) string) Change {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return gitHub(getenv)
	case getenv("GITLAB_CI") == "true":
		return gitLab(getenv)
	}
	return Change{}
}

func unclear(reason string) Change { return Change{Untrusted: reason, Unclear: true} }
