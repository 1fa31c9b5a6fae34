package shard

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	base := []string{"PATH=/bin", "DB=db_<i>_of_{n}", "TEST_SHARD_INDEX=99", "BOXER_SHARD_INDEX=99", "EMPTY="}
	env := environment(base, place{2, 4, "swift-crab-f7"}, 42, "/tmp/status")
	want := []string{
		"BOXER_SEED=42", "PATH=/bin", "DB=db_2_of_4", "EMPTY=",
		"BOXER_SHARD_INDEX=2", "BOXER_SHARD_TOTAL=4", "BOXER_CHILD=swift-crab-f7",
		"TEST_SHARD_INDEX=1", "TEST_TOTAL_SHARDS=4", "TEST_SHARD_STATUS_FILE=/tmp/status",
		"GTEST_SHARD_INDEX=1", "GTEST_TOTAL_SHARDS=4",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
}

func TestTheCallersSeedWins(t *testing.T) {
	t.Parallel()
	env := environment([]string{"BOXER_SEED=5"}, place{1, 1, "x"}, 42, "")
	if !slices.Contains(env, "BOXER_SEED=5") || slices.Contains(env, "BOXER_SEED=42") {
		t.Errorf("%q", env)
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	for n := range 1000 {
		s := seedOf(7, n)
		if s == 0 || s > 1<<31-1 || s != seedOf(7, n) {
			t.Errorf("seed of %d: %d", n, s)
		}
		seen[s] = true
	}
	if len(seen) < 999 || seedOf(7, 1) == seedOf(8, 1) {
		t.Errorf("%d different seeds of 1000", len(seen))
	}
	if a, b := (Options{}).filled().Seed, (Options{}).filled().Seed; a == 0 || a == b {
		t.Errorf("random seeds %d and %d", a, b)
	}
}
