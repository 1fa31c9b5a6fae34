package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Node is one of several CI machines that share the shards of a run. The zero Node is the only one.
type Node struct {
	Index, Total int // Index is from 1
}

// mostNodes is far above what any CI system starts, and keeps the numbers of shards readable.
const mostNodes = 10_000

// system is a CI system as its environment shows it. The marker is looked at by value: gitlab-ci-local sets
// GITLAB_CI=false, and Heroku and Cirrus use GitLab's CI_NODE_INDEX in another base.
type system struct {
	name          string
	marker, value string // the variable and the value it has there; "" is any
	index, total  string // variables of the system's own parallelism; "" where there is none
	first         int    // what the first node's index is
	run, attempt  string // variables; "" where there is none
}

// GitHub tells a job its place in the matrix only in expressions of the workflow, so there the flag is given.
var systems = []system{
	{"GitHub Actions", "GITHUB_ACTIONS", "true", "", "", 0, "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"},
	{"GitLab CI", "GITLAB_CI", "true", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1, "CI_PIPELINE_ID", "CI_JOB_ID"},
	{"CircleCI", "CIRCLECI", "true", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0, "CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM"},
	{"Buildkite", "BUILDKITE", "true", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0,
		"BUILDKITE_BUILD_ID", "BUILDKITE_RETRY_COUNT"},
	{"Semaphore", "SEMAPHORE", "true", "SEMAPHORE_JOB_INDEX", "SEMAPHORE_JOB_COUNT", 1, "SEMAPHORE_WORKFLOW_ID", ""},
	{"Bitbucket Pipelines", "BITBUCKET_BUILD_NUMBER", "", "BITBUCKET_PARALLEL_STEP", "BITBUCKET_PARALLEL_STEP_COUNT", 0,
		"BITBUCKET_BUILD_NUMBER", "BITBUCKET_STEP_RUN_NUMBER"},
}

func (s system) here(env []string) bool {
	v := Lookup(env, s.marker)
	return v != "" && (s.value == "" || s.value == v)
}

// RunOf names the run of the CI system that boxer is a part of, the same on all its nodes and in all its attempts, and
// what tells a later attempt from an earlier one. Both are empty outside of CI.
func RunOf(env []string) (id, attempt string) {
	for _, s := range systems {
		if s.here(env) {
			return Lookup(env, s.run), Lookup(env, s.attempt)
		}
	}
	return "", ""
}

// detectNode asks the CI system which of its parallel jobs this is. Not found means that there are no others.
func detectNode(env []string) (g given, found bool) {
	for _, s := range systems {
		if !s.here(env) || s.total == "" {
			continue
		}
		index, total := Lookup(env, s.index), Lookup(env, s.total)
		if total == "" || total == "1" {
			return given{}, false
		}
		g := given{source: s.index + " and " + s.total + " of " + s.name}
		i, err := strconv.Atoi(index)
		if err == nil {
			g.words = []string{fmt.Sprintf("%d/%s", i-s.first+1, total)}
			_, err = parseNode(g.words[0])
		}
		if err != nil {
			g.words = []string{index + "/" + total}
			g.fault = fmt.Errorf("%q of %q is no node counted from %d: give --node 2/5, or --node none", index, total, s.first)
		}
		return g, true
	}
	return given{}, false
}

var nodeForm = regexp.MustCompile(`^([0-9]{1,9})/([0-9]{1,9})$`)

func parseNode(text string) (Node, error) {
	m := nodeForm.FindStringSubmatch(text)
	if m == nil {
		return Node{}, fmt.Errorf("%q is no node: write 2/5 for the second of five machines, none, or auto", text)
	}
	i, _ := strconv.Atoi(m[1])
	n, _ := strconv.Atoi(m[2])
	switch {
	case n > mostNodes:
		return Node{}, fmt.Errorf("%d nodes are too many: the largest sensible number is %d", n, mostNodes)
	case i == 0 && n > 0:
		return Node{}, fmt.Errorf("there is no node 0 of %d: the first is 1", n)
	case i < 1 || i > n:
		return Node{}, fmt.Errorf("there is no node %d of %d", i, n)
	}
	return Node{i, n}, nil
}

// setNode takes the one node of one for none: they run the same shards, and write to the same place.
func setNode(c *Config, g given) error {
	c.Shard.Node = Node{}
	switch g.last() {
	case "auto", "none":
		return nil
	case "":
		return errors.New("no node: write 2/5 for the second of five machines, none, or auto")
	}
	n, err := parseNode(g.last())
	if err == nil && n.Total > 1 {
		c.Shard.Node = n
	}
	return err
}
