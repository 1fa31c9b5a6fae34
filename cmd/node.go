package cmd

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/boxer-ci/boxer/cmd/config"
	"github.com/boxer-ci/boxer/shard"
)

// nodeHelp stands in the help of shard.
const nodeHelp = `Several CI machines share the shards with --node: node 2 of 5 with 4 children runs shards 5 to 8 of 20, and writes to
boxer-report/node-2. GitLab, CircleCI, Buildkite, Semaphore and Bitbucket say themselves which of their parallel jobs
this is; on GitHub it is given, from a matrix: --node ${{ matrix.node }}/5. Where the jobs of a matrix are to run all
shards each, say --node none. Every node must have the same count: --count auto takes one child for each processor
there, whatever memory is free, so give --count where the machines differ. boxer merge joins the reports, and refuses
nodes of different counts.

`

// onNode makes the run a part of a larger one. What memory is free at the moment must not decide how many children a
// node has: another node would come to another count, and tests would run twice or never.
func (o *shardOptions) onNode(opts *shard.Options) {
	opts.Node = shard.Node(o.scoped.Shard.Node)
	opts.RunID.ID, opts.RunID.Attempt = config.RunOf(o.Env)
	opts.ReportDir = filepath.Join(opts.ReportDir, opts.Node.Folder())
	if opts.Node.Total > 1 && opts.Count == 0 {
		opts.Count = autoCount(runtime.GOMAXPROCS(0), 0)
	}
}

// sayNode tells which part of the shards this machine runs: nobody may have typed it.
func (o *shardOptions) sayNode() {
	n, count := o.run.Node, o.run.Count
	if n.Total < 2 {
		return
	}
	source := o.scoped.From("shard.node")
	if !strings.HasPrefix(source, "--") && !strings.HasPrefix(source, "BOXER_") {
		source += "; --node none to run all shards here"
	}
	what := fmt.Sprintf("shards %d to %d", (n.Index-1)*count+1, n.Index*count)
	if count == 1 {
		what = fmt.Sprintf("shard %d", n.Index)
	}
	o.say("node %d of %d (%s): %s of %d", n.Index, n.Total, source, what, n.Total*count)
	if o.scoped.Shard.Count == 0 {
		o.say("--count auto is %d here, one for each processor: every node must come to the same, so give --count where machines differ", count)
	}
}
