package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/boxer-ci/boxer/report"
)

// Identity stands for the whole set of tests that a shard ran, in few bytes: two shards that ran the same have the
// same, also where they ran on different machines. The zero Identity is of a shard without a test.
type Identity struct {
	Tests  int    // different ones
	Files  int    // that the tests name
	Digest string // of all of them, "" for none
}

func identityOf(s report.Shard) Identity {
	if len(s.IDs) == 0 {
		return Identity{}
	}
	h := sha256.New()
	var b [8]byte
	for _, id := range s.IDs {
		binary.LittleEndian.PutUint64(b[:], id)
		h.Write(b[:])
	}
	return Identity{len(s.IDs), len(s.Files), hex.EncodeToString(h.Sum(nil)[:16])}
}

// telling says whether two equal sets can be no coincidence.
func (i Identity) telling() bool { return i.Files > 0 || i.Tests >= enoughCases }
