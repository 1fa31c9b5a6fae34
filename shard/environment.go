package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

// environment is what a shard's command sees: the caller's variables with their placeholders filled in, and those that
// tell test runners their shard. Each of these counts in its own base: boxer's from 1, Bazel's and googletest's from 0.
func environment(base []string, p place, seed uint32, statusFile string) []string {
	index, total := strconv.Itoa(p.number), strconv.Itoa(p.total)
	index0 := strconv.Itoa(p.number - 1)
	own := []string{
		"BOXER_SHARD_INDEX=" + index, "BOXER_SHARD_TOTAL=" + total,
		"BOXER_CHILD=" + p.child,
		"TEST_SHARD_INDEX=" + index0, "TEST_TOTAL_SHARDS=" + total, "TEST_SHARD_STATUS_FILE=" + statusFile,
		"GTEST_SHARD_INDEX=" + index0, "GTEST_TOTAL_SHARDS=" + total,
	}
	mine := map[string]bool{}
	for _, v := range own {
		mine[nameOf(v)] = true
	}
	env := []string{"BOXER_SEED=" + strconv.FormatUint(uint64(seed), 10)} // the caller's wins: so a shard is repeated
	for _, v := range base {
		if nameOf(v) == "BOXER_SEED" {
			env = env[1:]
			break
		}
	}
	for _, v := range base {
		if !mine[nameOf(v)] {
			env = append(env, p.expand(v))
		}
	}
	return append(env, own...)
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

// seedOf makes the seed of a shard from that of the run, so that one number repeats them all. It is never 0 and fits
// into 31 bits: some runners take a signed number, some take 0 for "choose one".
func seedOf(run uint32, number int) uint32 {
	var b [12]byte
	binary.LittleEndian.PutUint32(b[:], run)
	binary.LittleEndian.PutUint64(b[4:], uint64(number))
	sum := sha256.Sum256(b[:])
	return binary.LittleEndian.Uint32(sum[:])&0x7fffffff | 1
}
