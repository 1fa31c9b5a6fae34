//go:build linux

package boxer_test

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// tool is a way to get the units done. Each unit appends a line with its worker and its name to the file $SPLIT_LOG.
type tool struct {
	name  string
	needs string // a program on PATH, and in brackets how to get it
	file  string // of a unit, by its number
	unit  string // text of it; SECONDS and NAME are filled in
	more  map[string]string
	run   func(p *person, files []string) error // does all units once
}

const shellUnit = "sleep SECONDS; echo \"$WORKER NAME\" >>\"$SPLIT_LOG\"\n"

const jestUnit = `test("waits", async () => {
	await new Promise((done) => setTimeout(done, SECONDS * 1000));
	process.getBuiltinModule("fs").appendFileSync(process.env.SPLIT_LOG, process.env.WORKER + " NAME\n");
});
`

const pytestUnit = `import os, time
def test_waits():
    time.sleep(SECONDS)
    with open(os.environ["SPLIT_LOG"], "a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + " NAME\n")
`

// shellRunner runs its files one after the other and writes a report that says how long each took.
const shellRunner = `now() { date +%s%N; }
WORKER=$BOXER_SHARD_INDEX; export WORKER
{
	echo '<testsuites>'
	for f; do
		began=$(now); sh "$f"; took=$(( ($(now) - began) / 1000000 ))
		printf '<testsuite name="%s"><testcase classname="%s" name="waits" file="%s" time="%d.%03d"/></testsuite>\n' "$f" "$f" "$f" $((took / 1000)) $((took % 1000))
	done
	echo '</testsuites>'
} >junit-$WORKER.xml
`

func tools() []tool {
	boxer := func(flags ...string) func(*person, []string) error {
		return func(p *person, files []string) error {
			args := append([]string{
				"shard", "--backend", "host", "--worktree", "shared", "--count", "2", "--env", "SPLIT_LOG", "--junit", "junit-<i>.xml",
				"--tests", "u*.sh",
			}, flags...)
			return atOnce(p, append([]string{program}, append(args, "--", "sh", "run.sh")...))
		}
	}
	runner := map[string]string{"run.sh": shellRunner}
	timings := map[string]string{"run.sh": shellRunner, "timings.json": knownTimings("u%02d.sh")}
	rubyUnit := "require 'test/unit'\nclass WaitsNAME < Test::Unit::TestCase\n  def test_waits\n    sleep SECONDS\n" +
		"    File.write(ENV['SPLIT_LOG'], \"worker#{ENV['TEST_ENV_NUMBER']} NAME\\n\", mode: 'a')\n  end\nend\n"
	parallelTests := func(flags ...string) func(*person, []string) error {
		return func(p *person, files []string) error {
			return atOnce(p, append([]string{"parallel_test", "-n", "2", "test"}, flags...))
		}
	}
	return []tool{
		{"boxer, first run", "sh", "u%02d.sh", shellUnit, runner, boxer()},
		{"boxer, with timings", "sh", "u%02d.sh", shellUnit, timings, boxer("--timings", "timings.json")},
		{"boxer --static, with timings", "sh", "u%02d.sh", shellUnit, timings, boxer("--static", "--timings", "timings.json")},
		{"GNU parallel", "parallel (apt install parallel)", "u%02d.sh", shellUnit, nil, func(p *person, files []string) error {
			return atOnce(p, append([]string{"parallel", "-j2", "WORKER={%} sh {}", ":::"}, files...))
		}},
		{"pytest-xdist", "pytest (apt install python3-pytest-xdist)", "test_u%02d.py", pytestUnit, nil, func(p *person, files []string) error {
			return atOnce(p, []string{"pytest", "-q", "-n", "2"})
		}},
		{"parallel_tests", "parallel_test (apt install ruby-parallel-tests ruby-test-unit)", "test/u%02d_test.rb", rubyUnit, nil, parallelTests()},
		{"parallel_tests, with timings", "parallel_test (apt install ruby-parallel-tests ruby-test-unit)", "test/u%02d_test.rb", rubyUnit,
			map[string]string{"runtime.log": knownRuntimes("test/u%02d_test.rb")}, parallelTests("--group-by", "runtime", "--runtime-log", "runtime.log")},
		{"jest --shard", "jest (npm install jest)", "u%02d.test.js", jestUnit, map[string]string{"package.json": "{}"}, func(p *person, files []string) error {
			return atOnce(p, []string{"jest", "-i", "--shard=1/2"}, []string{"jest", "-i", "--shard=2/2"})
		}},
		{"vitest --shard", "vitest (npm install vitest)", "u%02d.test.js", jestUnit, map[string]string{"package.json": "{}"}, func(p *person, files []string) error {
			words := []string{"vitest", "run", "--globals", "--no-file-parallelism"}
			return atOnce(p, append(words, "--shard=1/2"), append(words[:len(words):len(words)], "--shard=2/2"))
		}},
		{"node --test-shard", "node", "u%02d.test.js", `const { test } = require("node:test");` + "\n" + jestUnit, nil, func(p *person, files []string) error {
			words := func(k string) []string {
				return append([]string{"node", "--test", "--test-concurrency=1", "--test-shard=" + k + "/2"}, files...)
			}
			return atOnce(p, words("1"), words("2"))
		}},
	}
}

// unitTakes is how long the unit of a number takes, from 1.
func unitTakes(i int) time.Duration {
	if i > shortUnits {
		return longTakes
	}
	return shortTakes
}

func knownTimings(file string) string {
	var units []string
	for i := 1; i <= shortUnits+1; i++ {
		units = append(units, fmt.Sprintf(`"%s":{"runs":[%g]}`, fmt.Sprintf(file, i), unitTakes(i).Seconds()))
	}
	return `{"schema":1,"units":{` + strings.Join(units, ",") + "}}"
}

func knownRuntimes(file string) string {
	var lines strings.Builder
	for i := 1; i <= shortUnits+1; i++ {
		fmt.Fprintf(&lines, file+":%g\n", i, unitTakes(i).Seconds())
	}
	return lines.String()
}

// atOnce starts the commands together, the k-th as worker k, and waits for all.
func atOnce(p *person, commands ...[]string) error {
	results := make(chan error)
	for k, words := range commands {
		c := p.command(words...)
		c.Env = append(c.Env, fmt.Sprint("WORKER=", k+1), "CI=true")
		go func() {
			out, err := c.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%q: %w\n%s", words, err, out)
			}
			results <- err
		}()
	}
	var errs []error
	for range commands {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}
