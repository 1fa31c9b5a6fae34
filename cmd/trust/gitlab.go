package trust

import "strings"

// gitLab compares the two projects of a merge request, and the two repositories of a pull request that GitLab tests
// for another host. A pipeline of neither kind has none of these variables.
func gitLab(getenv func(string) string) Change {
	if c := between(getenv, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID", "merge_request_event"); c.Untrusted != "" {
		if path := getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"); !c.Unclear && path != "" {
			c.Untrusted = "the change comes from the fork " + path
		}
		return c
	}
	return between(getenv, "CI_EXTERNAL_PULL_REQUEST_SOURCE_REPOSITORY", "CI_EXTERNAL_PULL_REQUEST_TARGET_REPOSITORY", "external_pull_request_event")
}

// between judges by two variables that are equal where no fork is in play, and both there in pipelines of that source.
func between(getenv func(string) string, from, to, source string) Change {
	a, b := getenv(from), getenv(to)
	switch {
	case a == "" && b == "" && getenv("CI_PIPELINE_SOURCE") != source:
		return Change{}
	case a == "" || b == "":
		return unclear("nothing tells whether a fork's change is tested: " + from + " and " + to + " are not both set")
	case strings.EqualFold(a, b):
		return Change{}
	}
	return Change{Untrusted: "the change comes from the fork " + a}
}
