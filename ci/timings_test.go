package ci_test

import "testing"

// TestTimingsAreKept: in the cache, under a key of each attempt, if the run measured all of them; what the next run
// finds is the newest.
func TestTimingsAreKept(t *testing.T) {
	t.Parallel()
	m := standInMachine(t)
	run := func(id, with, env string) pushed {
		return m.push(`
on: push
jobs:
  test:
    runs-on: ubuntu-24.04
    env: {`+env+`}
    steps:
      - uses: boxer-ci/boxer@main
        with: {command: npm test`+with+`}
      - if: always()
        run: 'echo "marker: ran"'
`, "--env", "GITHUB_RUN_ID="+id)
	}
	p := run("1", "", "COMPLETE: true")
	p.ended("test", "success", "marker: ran")
	p.prints("test", "stub restored: nothing")
	p.mentions("test", "stub saved: boxer-timings-v1-Linux-", true)
	p = run("2", "", "CODE: 1, COMPLETE: true")
	p.ended("test", "failure", "marker: ran")
	p.prints("test", "measured in run 1")
	p.mentions("test", "-2-1", true)
	p = run("3", "", "COMPLETE: false")
	p.prints("test", "measured in run 2")
	p.mentions("test", "stub saved", false)
	p = run("4", "", "CODE: 130")
	p.ended("test", "failure", "marker: ran")
	p.mentions("test", "stub saved", false)
	p = run("5", ", timings: false", "COMPLETE: true")
	p.mentions("test", "stub", false)
	p = run("6", ", node: 1/2", "COMPLETE: true")
	p.mentions("test", "stub saved", false)
	p.mentions("test", "measured", false)
	p = run("7", ", working-directory: elsewhere", "COMPLETE: true")
	p.prints("test", "stub restored: nothing")
}
