package config

import (
	"strings"
	"testing"
)

func TestNode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, env string // env: variables parted by spaces
		want            Node
		source          string
	}{
		{"nothing", "", "", Node{}, "default"},
		{"a flag", "2/5", "", Node{2, 5}, "--node"},
		{"a variable", "", "BOXER_NODE=2/5", Node{2, 5}, "BOXER_NODE"},
		{"a flag over a variable", "1/3", "BOXER_NODE=2/5", Node{1, 3}, "--node"},
		{"a flag over the CI system", "1/3", "GITLAB_CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{1, 3}, "--node"},
		{"none over the CI system", "none", "GITLAB_CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{}, "--node"},
		{"one of one over the CI system", "1/1", "GITLAB_CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{}, "--node"},
		{"none in a variable", "", "BOXER_NODE=none CIRCLECI=true CIRCLE_NODE_INDEX=1 CIRCLE_NODE_TOTAL=5", Node{}, "BOXER_NODE"},
		{"auto over a variable", "auto", "BOXER_NODE=2/5 GITLAB_CI=true CI_NODE_INDEX=3 CI_NODE_TOTAL=4", Node{3, 4}, "CI_NODE_INDEX and CI_NODE_TOTAL of GitLab CI"},
		{"GitLab counts from 1", "", "GITLAB_CI=true CI_NODE_INDEX=5 CI_NODE_TOTAL=5", Node{5, 5}, "CI_NODE_INDEX and CI_NODE_TOTAL of GitLab CI"},
		{"gitlab-ci-local is no GitLab", "", "GITLAB_CI=false CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{}, "default"},
		{"somebody else's CI_NODE_INDEX", "", "CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{}, "default"},
		{"GitLab without parallel", "", "GITLAB_CI=true CI_NODE_TOTAL=1", Node{}, "default"},
		{"CircleCI counts from 0", "", "CIRCLECI=true CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=3", Node{1, 3}, "CIRCLE_NODE_INDEX and CIRCLE_NODE_TOTAL of CircleCI"},
		{"CircleCI by value", "", "CIRCLECI=1 CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=3", Node{}, "default"},
		{"Buildkite counts from 0", "", "BUILDKITE=true BUILDKITE_PARALLEL_JOB=2 BUILDKITE_PARALLEL_JOB_COUNT=3", Node{3, 3}, "BUILDKITE_PARALLEL_JOB and BUILDKITE_PARALLEL_JOB_COUNT of Buildkite"},
		{"Semaphore counts from 1", "", "SEMAPHORE=true SEMAPHORE_JOB_INDEX=1 SEMAPHORE_JOB_COUNT=2", Node{1, 2}, "SEMAPHORE_JOB_INDEX and SEMAPHORE_JOB_COUNT of Semaphore"},
		{"Bitbucket counts from 0", "", "BITBUCKET_BUILD_NUMBER=41 BITBUCKET_PARALLEL_STEP=1 BITBUCKET_PARALLEL_STEP_COUNT=2", Node{2, 2}, "BITBUCKET_PARALLEL_STEP and BITBUCKET_PARALLEL_STEP_COUNT of Bitbucket Pipelines"},
		{"Bitbucket elsewhere", "", "BITBUCKET_PARALLEL_STEP=1 BITBUCKET_PARALLEL_STEP_COUNT=2", Node{}, "default"},
		{"nothing on GitHub", "", "GITHUB_ACTIONS=true CI_NODE_INDEX=2 CI_NODE_TOTAL=5", Node{}, "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := project(t, "")
			r.Env = append(r.Env, strings.Fields(c.env)...)
			if c.flag != "" {
				r.Flags["node"] = []string{c.flag}
			}
			got, err := Load(r)
			if err != nil || got.Shard.Node != c.want || originOf(got, "shard.node").Source != c.source {
				t.Errorf("got %+v from %+v, %v", got.Shard.Node, originOf(got, "shard.node"), err)
			}
		})
	}
}

func TestBadNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, flag, env, want string }{
		{"from 0", "0/3", "", "--node: there is no node 0 of 3: the first is 1"},
		{"beyond the last", "4/3", "", "--node: there is no node 4 of 3"},
		{"none of none", "0/0", "", "--node: there is no node 0 of 0"},
		{"one of none", "1/0", "", "--node: there is no node 1 of 0"},
		{"words", "two", "", `--node: "two" is no node: write 2/5 for the second of five machines, none, or auto`},
		{"one number", "2", "", `--node: "2" is no node: write 2/5 for the second of five machines, none, or auto`},
		{"a sign", "-1/3", "", `--node: "-1/3" is no node: write 2/5 for the second of five machines, none, or auto`},
		{"nothing", "", "BOXER_NODE= ", `BOXER_NODE: " " is no node: write 2/5 for the second of five machines, none, or auto`},
		{"too many", "1/10001", "", "--node: 10001 nodes are too many: the largest sensible number is 10000"},
		{"a huge number", "1/99999999999999999999", "", `--node: "1/99999999999999999999" is no node: write 2/5 for the second of five machines, none, or auto`},
		{"detected words", "", "GITLAB_CI=true|CI_NODE_INDEX=x|CI_NODE_TOTAL=5",
			`CI_NODE_INDEX and CI_NODE_TOTAL of GitLab CI: "x" of "5" is no node counted from 1: give --node 2/5, or --node none`},
		{"detected beyond the last", "", "CIRCLECI=true|CIRCLE_NODE_INDEX=5|CIRCLE_NODE_TOTAL=5",
			`CIRCLE_NODE_INDEX and CIRCLE_NODE_TOTAL of CircleCI: "5" of "5" is no node counted from 0: give --node 2/5, or --node none`},
		{"detected before the first", "", "GITLAB_CI=true|CI_NODE_INDEX=0|CI_NODE_TOTAL=5",
			`CI_NODE_INDEX and CI_NODE_TOTAL of GitLab CI: "0" of "5" is no node counted from 1: give --node 2/5, or --node none`},
		{"detected without an index", "", "BUILDKITE=true|BUILDKITE_PARALLEL_JOB_COUNT=5",
			`BUILDKITE_PARALLEL_JOB and BUILDKITE_PARALLEL_JOB_COUNT of Buildkite: "" of "5" is no node counted from 0: give --node 2/5, or --node none`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := project(t, "")
			r.Env = append(r.Env, strings.Split(c.env, "|")...)
			if c.flag != "" {
				r.Flags["node"] = []string{c.flag}
			}
			if _, err := Load(r); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestNodeIsNotOfTheFile(t *testing.T) {
	t.Parallel()
	if _, err := Load(project(t, "shard: {node: 1/2}")); err == nil || !strings.Contains(err.Error(), `unknown key "node" in shard`) {
		t.Errorf("got %v", err)
	}
}

func TestRunOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, id, attempt string }{
		{"", "", ""},
		{"GITHUB_RUN_ID=7 GITHUB_RUN_ATTEMPT=1", "", ""},
		{"GITHUB_ACTIONS=true GITHUB_RUN_ID=7 GITHUB_RUN_ATTEMPT=2", "7", "2"},
		{"GITLAB_CI=true CI_PIPELINE_ID=9 CI_JOB_ID=81", "9", "81"},
		{"CIRCLECI=true CIRCLE_WORKFLOW_ID=a-b CIRCLE_BUILD_NUM=3", "a-b", "3"},
		{"BUILDKITE=true BUILDKITE_BUILD_ID=c-d BUILDKITE_RETRY_COUNT=0", "c-d", "0"},
		{"SEMAPHORE=true SEMAPHORE_WORKFLOW_ID=e-f", "e-f", ""},
		{"BITBUCKET_BUILD_NUMBER=41 BITBUCKET_STEP_RUN_NUMBER=1", "41", "1"},
	} {
		if id, attempt := RunOf(strings.Fields(c.env)); id != c.id || attempt != c.attempt {
			t.Errorf("%s: run %q attempt %q", c.env, id, attempt)
		}
	}
}
